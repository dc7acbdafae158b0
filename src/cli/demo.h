/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nvof demo: a host and a target in one process, over TCP on the loopback.  Each step has a file of its own and leaves its figures in
 * struct demo; the screen, the JSON document and the report are made from them at the end.
 */
#ifndef NVOF_CLI_DEMO_H
#define NVOF_CLI_DEMO_H

#include <nvof/nvof.h>
#include <nvof/target.h>

#include "base/hist.h"
#include "cli/cli.h"

#define DEMO_NQN	"nqn.2014-08.org.nvmexpress:uuid:1d3a5a2e-6b0e-4a53-9c58-6e766f660001"
#define DEMO_VERIFY_LEN (1u << 20) /* bytes written to each namespace */
#define DEMO_NR_IO	3

/* One connect.  The spans are a copy: the ctrl may be gone. */
struct demo_setup {
	struct nvof_setup_times times;
	struct nvof_span *spans; /* owned; state points to a constant of the library */
	size_t nr_spans;
};

/* One measurement of reads with so many in flight. */
struct demo_io {
	const char *name;
	uint32_t bytes; /* of each read */
	unsigned int depth;
	uint64_t nr_ios, elapsed_ns;
	struct hist lat; /* nanoseconds */
};

struct demo {
	struct cli *cli;
	/* options */
	uint32_t nr_io_queues, nr_namespaces;
	uint64_t delay_ms, runtime_ms;
	const char *report; /* path */

	struct nvof_target *target;
	struct nvof_ctx *ctx;
	struct nvof_ctrl *ctrl;
	struct nvof_ns **ns; /* nr_namespaces, open on ctrl */
	char traddr[64], trsvcid[8];

	struct demo_setup serial, parallel;
	uint64_t verified_bytes;
	unsigned int nr_bad_ns; /* namespaces that did not give back what was written */
	struct demo_io io[DEMO_NR_IO];
};

/* Steps.  EXIT_OK, or EXIT_FAILED after cli_error(). */
int demo_target_start(struct demo *demo);
/* Both connects; the second one's ctrl stays.  Then the target answers at once. */
int demo_setup(struct demo *demo);
int demo_verify(struct demo *demo);
int demo_io(struct demo *demo);
void demo_stop(struct demo *demo);

/* "All that was measured", for -o json and the report. */
json_object *demo_json(const struct demo *demo);
void demo_screen(const struct demo *demo, bool has_report);
int demo_write_report(const struct demo *demo, json_object *doc);

/* What is being done now, on a terminal's last line; NULL wipes it out. */
void demo_progress(const struct demo *demo, const char *what);

#endif
