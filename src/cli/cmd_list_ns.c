/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/conn.h"
#include "cli/ns_words.h"
#include "cli/text.h"

#define PAGE_NSIDS 1024u
#define MAX_NSIDS  (1u << 20)

static const struct usage usage = {
	"[-t TRANSPORT] -a ADDR [-s PORT] -n NQN [--namespace-id NSID] [--all] [--csi N] [--long] [OPTION]... | URI",
	"Lists the active namespaces of a subsystem, however many.",
	"$ nvof list-ns -t tcp -a 127.0.0.1 -s 4420 -n nqn.2026-11.org.example:nvof\n"
	"$ nvof list-ns nvme+tcp://127.0.0.1:4420/nqn.2026-11.org.example:nvof --long",
};

struct args {
	struct conn_args conn;
	int csi; /* -1: not given */
	bool all, details;
};

/* clang-format off */
static const struct opt opts[] = {
	{ 0, "all", OPT_FLAG, OFFSET(struct args, all), NULL, "also those that are not attached to this ctrl (allocated)" },
	{ 'y', "csi", OPT_INT, OFFSET(struct args, csi), "N", "only those of this command set, 0: NVM (default: all)", .imin = 0, .imax = 255 },
	{ 'l', "long", OPT_FLAG, OFFSET(struct args, details), NULL, "with size, block size and identifier of each" },
	{ 0 }
};
/* clang-format on */

struct list {
	uint32_t *nsids;
	size_t nr;
};

static void list_add(struct list *l, uint32_t nsid)
{
	if (l->nr % PAGE_NSIDS == 0)
		l->nsids = realloc(l->nsids, (l->nr + PAGE_NSIDS) * sizeof(*l->nsids));
	if (!l->nsids)
		abort();
	l->nsids[l->nr++] = nsid;
}

static uint8_t cns_of(const struct args *args)
{
	if (args->csi >= 0)
		return args->all ? NVME_IDENTIFY_CNS_CSI_ALLOCATED_NS_LIST : NVME_IDENTIFY_CNS_CSI_NS_ACTIVE_LIST;
	return args->all ? NVME_IDENTIFY_CNS_ALLOCATED_NS_LIST : NVME_IDENTIFY_CNS_NS_ACTIVE_LIST;
}

/* Adds the ids above *after; *after: the last one, 0 when there are no more. */
static int read_page(struct conn *c, const struct args *args, struct list *l, uint32_t *after)
{
	uint32_t page[PAGE_NSIDS] = { 0 };
	struct conn_wait w = { 0 };
	uint32_t last = *after, i;
	int ret = nvof_identify(c->ctrl, cns_of(args), last, 0, args->csi > 0 ? (uint8_t)args->csi : 0, page, conn_wait_cb, &w);

	ret = conn_status(c, conn_wait(c, &w, ret), "reading the list of namespaces");
	for (i = 0; !ret && i < PAGE_NSIDS && page[i]; i++) {
		if (le32toh(page[i]) <= last)
			return cli_error(c->cli, -EPROTO, "the list of namespaces is not in ascending order: %" PRIu32 " behind %" PRIu32,
					 le32toh(page[i]), last);
		last = le32toh(page[i]);
		list_add(l, last);
	}
	*after = i == PAGE_NSIDS && last < UINT32_MAX - 1 ? last : 0;
	return ret;
}

/* There can't be more than NN, the number of the last id. */
static uint32_t most(const struct conn *c)
{
	uint32_t nn = le32toh(nvof_ctrl_id(c->ctrl)->nn);

	return nn && nn < MAX_NSIDS ? nn : MAX_NSIDS;
}

static int read_list(struct conn *c, const struct args *args, struct list *l)
{
	uint32_t after = args->conn.nsid ? args->conn.nsid - 1 : 0;
	int ret;

	do
		ret = read_page(c, args, l, &after);
	while (!ret && after && l->nr <= most(c));
	if (!ret && after)
		return cli_error(c->cli, -EPROTO,
				 "the list of namespaces has no end: %zu so far, the last one %" PRIu32
				 ", and NN is %u (%u at most are read)",
				 l->nr, after, le32toh(nvof_ctrl_id(c->ctrl)->nn), MAX_NSIDS);
	return ret;
}

/* Of a namespace that has no details. */
struct reason {
	int status; /* what is behind it; 0: it is no failure that there are none */
	char words[1024];
	json_object *error; /* of a failure; owned */
	bool lost;	    /* with the ctrl: it holds for all others, too */
};

static void failed(struct conn *c, struct reason *why, uint32_t nsid, int status)
{
	json_object *before = cli_part_begin(c->cli);

	conn_status_words(c->ctrl, status, why->words, sizeof(why->words));
	cli_error(c->cli, status, "namespace %" PRIu32 ": %s", nsid, why->words);
	json_object_put(why->error);
	why->error = cli_part_end(c->cli, before);
	why->status = status;
	why->lost = nvof_ctrl_state(c->ctrl) != NVOF_CTRL_LIVE;
}

/* A handle; NULL, and why: the look at all of them did not find it, so that it is asked for alone. */
static struct nvof_ns *details(struct conn *c, uint32_t nsid, struct reason *why)
{
	struct nvof_ns *ns = nvof_ns_get(c->ctrl, nsid);
	int ret;

	if (ns || why->lost)
		return ns;
	why->status = 0;
	ret = nvof_ns_open_sync(c->ctrl, nsid, &ns);
	if (ret == -ENODEV)
		snprintf(why->words, sizeof(why->words), "not active");
	else if (ret == -ENOTSUP)
		snprintf(why->words, sizeof(why->words), "%s", nvof_ctrl_errmsg(c->ctrl));
	else if (ret)
		failed(c, why, nsid, ret);
	return ns;
}

static void details_json(json_object *o, const struct nvof_ns *ns, const struct reason *why)
{
	if (ns)
		ns_add_json(o, ns);
	else if (why->status)
		json_object_object_add(o, "error", json_object_get(why->error));
	else
		json_object_object_add(o, "reason", text_json(why->words));
}

static void show_one(struct conn *c, const struct args *args, size_t i, uint32_t nsid, struct reason *why, json_object *list)
{
	struct nvof_ns *ns = args->details ? details(c, nsid, why) : NULL;
	char words[NS_WORDS_LEN];

	if (list) {
		json_object *o = json_object_new_object();

		json_object_object_add(o, "nsid", json_object_new_int64(nsid));
		if (args->details)
			details_json(o, ns, why);
		json_object_array_add(list, o);
	} else {
		printf("[%4zu]:%#" PRIx32, i, nsid);
		if (args->details)
			printf("  %s", ns ? ns_words(ns, words) : text_clean(why->words));
		putchar('\n');
	}
	nvof_ns_close(ns);
}

static int show(struct conn *c, const struct args *args, const struct list *l)
{
	json_object *doc = c->cli->json ? cli_json_new() : NULL, *list = doc ? json_object_new_array() : NULL;
	struct reason why = { 0 };
	int ret;

	for (size_t i = 0; i < l->nr; i++)
		show_one(c, args, i, l->nsids[i], &why, list);
	ret = why.error ? EXIT_FAILED : EXIT_OK;
	json_object_put(why.error);
	if (!doc)
		return ret;
	json_object_object_add(doc, "nsid_list", list);
	cli_json_failure(c->cli, doc);
	return cli_json(c->cli, doc) ? EXIT_FAILED : ret;
}

static int list_ns(struct cli *cli, const struct args *args)
{
	struct list l = { 0 };
	struct conn c;
	int ret = conn_open(&c, &args->conn, CONN_ADMIN);

	if (!ret)
		ret = read_list(&c, args, &l);
	/* All of them together, however long an answer takes. */
	if (!ret && args->details)
		ret = conn_status(&c, nvof_ns_scan_sync(c.ctrl), "looking for namespaces");
	if (!ret)
		ret = show(&c, args, &l);
	conn_close(&c);
	free(l.nsids);
	return ret;
}

int cmd_list_ns(struct cli *cli, int argc, char **argv)
{
	struct args args = { .csi = -1 };
	int ret;

	conn_args_init(&args.conn, cli);
	ret = conn_parse(&usage, (struct opt_group[]){ { "Options", opts, &args }, { 0 } }, &args.conn, argc, argv);
	if (ret == OPTS_GO)
		ret = list_ns(cli, &args);
	conn_args_clear(&args.conn);
	return ret;
}
