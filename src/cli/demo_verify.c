/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes to all namespaces at once, each through a queue of its own while they last, reads back and compares. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/demo.h"

struct round {
	struct demo *demo;
	unsigned int nr_left;
	int status; /* the first that was not 0 */
	const char *what;
};

static void round_done(void *arg, const struct nvof_cpl *cpl)
{
	struct round *round = arg;

	if (cpl->status && !round->status)
		round->status = cpl->status;
	round->nr_left--;
}

static int round_wait(struct round *round, int submitted)
{
	struct demo *demo = round->demo;
	char words[160];

	while (round->nr_left)
		nvof_ctx_poll(demo->ctx, -1);
	if (!submitted && !round->status)
		return EXIT_OK;
	return cli_error(demo->cli, round->status ? round->status : submitted, "%s: %s", round->what,
			 nvof_status_str(round->status ? round->status : submitted, words, sizeof(words)));
}

/* Every 8 bytes differ from all others of the run: a block that went astray does not go unnoticed. */
static void fill(unsigned char *buf, size_t len)
{
	uint64_t *words = (uint64_t *)buf;

	for (size_t i = 0; i < len / 8; i++)
		words[i] = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

typedef int submit_fn(struct nvof_hctx *hctx, struct nvof_ns *ns, uint32_t nlb, void *buf, struct round *round);

static int submit_write(struct nvof_hctx *hctx, struct nvof_ns *ns, uint32_t nlb, void *buf, struct round *round)
{
	return nvof_write(hctx, ns, 0, nlb, buf, 0, round_done, round);
}

static int submit_read(struct nvof_hctx *hctx, struct nvof_ns *ns, uint32_t nlb, void *buf, struct round *round)
{
	return nvof_read(hctx, ns, 0, nlb, buf, 0, round_done, round);
}

static int all_namespaces(struct demo *demo, const char *what, submit_fn *submit, unsigned char *buf)
{
	struct round round = { .demo = demo, .what = what };
	int ret = 0;

	for (uint32_t i = 0; i < demo->nr_namespaces; i++) {
		struct nvof_hctx *hctx = nvof_ctrl_hctx(demo->ctrl, i % nvof_ctrl_nr_hctx(demo->ctrl));

		do {
			ret = submit(hctx, demo->ns[i], DEMO_VERIFY_LEN / nvof_ns_block_size(demo->ns[i]),
				     buf + (size_t)i * DEMO_VERIFY_LEN, &round);
		} while (ret == -EAGAIN && nvof_ctx_poll(demo->ctx, -1) >= 0);
		if (ret)
			break;
		round.nr_left++;
	}
	return round_wait(&round, ret);
}

static int open_namespaces(struct demo *demo)
{
	demo->ns = calloc(demo->nr_namespaces, sizeof(struct nvof_ns *));
	if (!demo->ns)
		return cli_error(demo->cli, 0, "out of memory");
	for (uint32_t i = 0; i < demo->nr_namespaces; i++) {
		int ret = nvof_ns_open_sync(demo->ctrl, i + 1, &demo->ns[i]);

		if (ret)
			return cli_error(demo->cli, ret, "namespace %u: %s", i + 1, nvof_ctx_errmsg(demo->ctx));
	}
	return EXIT_OK;
}

int demo_verify(struct demo *demo)
{
	size_t len = (size_t)demo->nr_namespaces * DEMO_VERIFY_LEN;
	unsigned char *wrote = malloc(len), *got = malloc(len);
	int ret;

	demo_progress(demo, "writing, reading back, comparing");
	if (!wrote || !got) {
		ret = cli_error(demo->cli, 0, "out of memory");
		goto out;
	}
	fill(wrote, len);
	memset(got, 0, len);
	ret = open_namespaces(demo);
	if (ret == EXIT_OK)
		ret = all_namespaces(demo, "writing", submit_write, wrote);
	if (ret == EXIT_OK)
		ret = all_namespaces(demo, "reading back", submit_read, got);
	if (ret != EXIT_OK)
		goto out;
	for (uint32_t i = 0; i < demo->nr_namespaces; i++)
		demo->nr_bad_ns += memcmp(wrote + (size_t)i * DEMO_VERIFY_LEN, got + (size_t)i * DEMO_VERIFY_LEN, DEMO_VERIFY_LEN) != 0;
	demo->verified_bytes = len;
out:
	free(wrote);
	free(got);
	return ret;
}
