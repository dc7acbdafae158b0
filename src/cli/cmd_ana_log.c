/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cli/conn.h"
#include "proto/ana.h"

#define LID_ANA	 0x0c
#define RGO	 1
#define PART	 4096u
#define LOG_MAX	 (64u << 20)
#define ATTEMPTS 5

static const struct usage usage = {
	"[-t TRANSPORT] -a ADDR [-s PORT] -n NQN [--groups] [OPTION]... | URI",
	"Shows how this path leads to each group of namespaces: asymmetric namespace access.",
	"$ nvof ana-log nvme+tcp://127.0.0.1:4420/nqn.2026-11.org.example:nvof",
};

struct args {
	struct conn_args conn;
	bool groups;
};

/* clang-format off */
static const struct opt opts[] = {
	{ 0, "groups", OPT_FLAG, OFFSET(struct args, groups), NULL, "the groups only, without their namespaces" },
	{ 0 }
};
/* clang-format on */

struct page {
	uint8_t *bytes;
	size_t len;
};

/* How many bytes the page needs at least, as far as it is here; what is here is whole when that is no more than len. */
static size_t page_need(const struct page *p)
{
	struct ana_group g;
	struct ana_walk w;
	size_t need;

	if (ana_walk_begin(&w, p->bytes, p->len, &need))
		while (w.left && ana_walk_next(&w, &g, &need))
			;
	return need;
}

static uint64_t change_count(const struct page *p)
{
	uint64_t count;

	memcpy(&count, p->bytes, sizeof(count));
	return le64toh(count);
}

/* One more part, or several when it is known that they are needed. */
static int page_more(struct conn *c, const struct args *args, struct page *p, size_t need)
{
	size_t len = (need + PART - 1) / PART * PART;
	uint8_t *more = len <= LOG_MAX ? realloc(p->bytes, len) : NULL;
	int ret = 0;

	if (!more)
		return cli_error(args->conn.cli, len <= LOG_MAX ? -ENOMEM : -EMSGSIZE, "ANA log: %zu bytes: %s", len,
				 len <= LOG_MAX ? "no memory" : "more than 64 MiB can't be meant");
	p->bytes = more;
	for (; p->len < len && !ret; p->len += PART)
		ret = conn_status(
			c, nvof_get_log_sync(c->ctrl, LID_ANA, args->groups ? RGO : 0, true, NVME_NSID_ALL, p->len, more + p->len, PART),
			"Get Log Page (ANA)");
	return ret;
}

/* In parts; again when it changed meanwhile. */
static int page_read(struct conn *c, const struct args *args, struct page *p)
{
	uint8_t head[16];
	size_t need;
	int ret = 0;

	for (int i = 0; i < ATTEMPTS && !ret; i++) {
		p->len = 0;
		while (!ret && (need = page_need(p)) > p->len)
			ret = page_more(c, args, p, need);
		if (!ret)
			ret = conn_status(
				c, nvof_get_log_sync(c->ctrl, LID_ANA, args->groups ? RGO : 0, false, NVME_NSID_ALL, 0, head, sizeof(head)),
				"Get Log Page (ANA)");
		if (!ret && change_count(&(struct page){ .bytes = head }) == change_count(p))
			return EXIT_OK;
	}
	return ret ? ret : cli_error(args->conn.cli, -EAGAIN, "ANA log: it changed each of %d times while it was read", ATTEMPTS);
}

static uint32_t nsid_at(const struct ana_group *g, uint32_t i)
{
	uint32_t nsid;

	memcpy(&nsid, g->nsids + 4 * (size_t)i, sizeof(nsid));
	return le32toh(nsid);
}

static void print_group(const struct ana_group *g)
{
	printf("group %" PRIu32 "  %s  change count %" PRIu64 "\n", g->grpid, ana_state_name(g->state), g->chgcnt);
	for (uint32_t i = 0; i < g->nr_nsids; i++)
		printf("  nsid %" PRIu32 "\n", nsid_at(g, i));
}

static json_object *group_json(const struct ana_group *g)
{
	json_object *obj = json_object_new_object(), *nsids = json_object_new_array();

	json_object_object_add(obj, "grpid", json_object_new_int64(g->grpid));
	json_object_object_add(obj, "state", json_object_new_string(ana_state_name(g->state)));
	json_object_object_add(obj, "chgcnt", json_object_new_uint64(g->chgcnt));
	for (uint32_t i = 0; i < g->nr_nsids; i++)
		json_object_array_add(nsids, json_object_new_int64(nsid_at(g, i)));
	json_object_object_add(obj, "nsids", nsids);
	return obj;
}

static int show(struct cli *cli, const struct page *p)
{
	json_object *doc = cli->json ? cli_json_new() : NULL, *groups = doc ? json_object_new_array() : NULL;
	struct ana_group g;
	struct ana_walk w;
	size_t need;

	ana_walk_begin(&w, p->bytes, p->len, &need);
	if (doc)
		json_object_object_add(doc, "chgcnt", json_object_new_uint64(change_count(p)));
	else
		printf("change count %" PRIu64 ", %u group%s\n", change_count(p), w.left, w.left == 1 ? "" : "s");
	while (w.left && ana_walk_next(&w, &g, &need)) {
		if (doc)
			json_object_array_add(groups, group_json(&g));
		else
			print_group(&g);
	}
	if (!doc)
		return EXIT_OK;
	json_object_object_add(doc, "groups", groups);
	return cli_json(cli, doc);
}

int cmd_ana_log(struct cli *cli, int argc, char **argv)
{
	struct args args = { 0 };
	struct page page = { 0 };
	struct conn c;
	int ret;

	conn_args_init(&args.conn, cli);
	ret = conn_parse(&usage, (struct opt_group[]){ { "Options", opts, &args }, { 0 } }, &args.conn, argc, argv);
	if (ret == OPTS_GO) {
		ret = conn_open(&c, &args.conn, CONN_ADMIN);
		if (!ret)
			ret = page_read(&c, &args, &page);
		conn_close(&c);
		if (!ret)
			ret = show(cli, &page);
		free(page.bytes);
	}
	conn_args_clear(&args.conn);
	return ret;
}
