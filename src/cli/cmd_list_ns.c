/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/conn.h"

static const struct usage usage = {
	"[-t TRANSPORT] -a ADDR [-s PORT] -n NQN [OPTION]... | URI",
	"Lists the active namespaces of a subsystem, however many.",
	"$ nvof list-ns -t tcp -a 127.0.0.1 -s 4420 -n nqn.2026-11.org.example:nvof",
};

static int show(struct cli *cli, const uint32_t *nsids, size_t nr)
{
	json_object *doc, *list;

	if (!cli->json) {
		for (size_t i = 0; i < nr; i++)
			printf("[%4zu]:%#" PRIx32 "\n", i, nsids[i]);
		return EXIT_OK;
	}
	doc = cli_json_new();
	list = json_object_new_array();
	json_object_object_add(doc, "nsid_list", list);
	for (size_t i = 0; i < nr; i++) {
		json_object *o = json_object_new_object();

		json_object_object_add(o, "nsid", json_object_new_int64(nsids[i]));
		json_object_array_add(list, o);
	}
	return cli_json(cli, doc);
}

int cmd_list_ns(struct cli *cli, int argc, char **argv)
{
	struct conn_args args;
	uint32_t *nsids = NULL;
	size_t nr = 0;
	struct conn c;
	int ret;

	conn_args_init(&args, cli);
	ret = conn_parse(&usage, NULL, &args, argc, argv);
	if (ret == OPTS_GO) {
		ret = conn_open(&c, &args, CONN_ADMIN);
		if (!ret)
			ret = conn_status(&c, nvof_ns_list_sync(c.ctrl, &nsids, &nr), "reading the list of namespaces");
		conn_close(&c);
		if (!ret)
			ret = show(cli, nsids, nr);
		free(nsids);
	}
	conn_args_clear(&args);
	return ret;
}
