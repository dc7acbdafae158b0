/* SPDX-License-Identifier: BSD-3-Clause */
/* Connecting to all that a discovery service tells of: what connect-all and bench connect --from-discovery share. */
#ifndef NVOF_CLI_WAVE_H
#define NVOF_CLI_WAVE_H

#include "cli/conn.h"

struct wave_args {
	uint32_t max_depth;
	bool any_transport;
};

struct wave_job {
	struct nvof_wave *wave; /* NULL: not begun, or given up */
	bool done;
	int status;
	json_object *error; /* owned: its log could not be read; NULL: it could, or a signal came */
};

/* EXIT_OK, or what cli_error() or cli_usage_error() returned.  The job stays where it is until wave_disconnect(). */
int wave_begin(struct conn *c, const struct conn_args *args, const struct wave_args *wave, struct wave_job *job);
/* Until all are done: EXIT_OK, also when some records failed.  A log that can't be read is told: EXIT_FAILED, with the others done.  A
 * signal gives all of them up without a word: EXIT_FAILED. */
int wave_wait(struct conn *c, struct wave_job *jobs, size_t nr, struct stop *stop);
/* Disconnects what was connected, all at once, and frees the waves.  A signal cuts it short. */
void wave_disconnect(struct conn *c, struct wave_job *jobs, size_t nr, struct stop *stop);

#endif
