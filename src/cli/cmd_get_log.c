/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/conn.h"
#include "cli/fields.h"

#define LOG_LEN_MAX (64u << 20)

static const struct usage usage = {
	"[-t TRANSPORT] -a ADDR [-s PORT] -n NQN --log-id ID [--log-len BYTES] [OPTION]... | URI",
	"Reads a log page of the ctrl.",
	"$ nvof get-log nvme+tcp://127.0.0.1:4420/nqn.2026-11.org.example:nvof --log-id 2 --log-len 512",
};

struct args {
	struct conn_args conn;
	uint32_t lid, lsp;
	uint64_t len, offset;
	bool rae, raw;
};

/* clang-format off */
static const struct opt opts[] = {
	{ 0, "log-id", OPT_U32, OFFSET(struct args, lid), "ID", "which log: 1 errors, 2 health, 3 firmware, 4 changed namespaces, 0x70 discovery ...", .min = 1,
	  .max = 255 },
	{ 'l', "log-len", OPT_SIZE, OFFSET(struct args, len), "BYTES", "how much of it, a multiple of 4 (default 512)", .min = 4, .max = LOG_LEN_MAX },
	{ 0, "lpo", OPT_U64, OFFSET(struct args, offset), "BYTES", "from where, a multiple of 4 (default 0)" },
	{ 0, "lsp", OPT_U32, OFFSET(struct args, lsp), "N", "log specific field (default 0)", .max = 127 },
	{ 'r', "rae", OPT_FLAG, OFFSET(struct args, rae), NULL, "retain the asynchronous event" },
	{ 'b', "raw-binary", OPT_FLAG, OFFSET(struct args, raw), NULL, "the bytes as they came" },
	{ 0 }
};
/* clang-format on */

static int check_args(struct cli *cli, const struct args *args)
{
	if (!args->lid)
		return cli_usage_error(cli, "--log-id", "--log-id is missing");
	if (args->len % 4)
		return cli_usage_error(cli, "--log-len", "--log-len: %llu is not a multiple of 4", (unsigned long long)args->len);
	if (args->offset % 4)
		return cli_usage_error(cli, "--lpo", "--lpo: %llu is not a multiple of 4", (unsigned long long)args->offset);
	if (args->raw && cli->json)
		return cli_usage_error(cli, "--raw-binary", "--raw-binary and -o json exclude one another");
	return EXIT_OK;
}

static int show(struct cli *cli, const struct args *args, const uint8_t *buf)
{
	json_object *doc;
	char *hex;

	if (args->raw) {
		fwrite(buf, args->len, 1, stdout);
		return EXIT_OK;
	}
	if (!cli->json) {
		printf("Log %#x, %llu bytes from %llu:\n", args->lid, (unsigned long long)args->len, (unsigned long long)args->offset);
		hex_dump(buf, args->len);
		return EXIT_OK;
	}
	hex = malloc(2 * args->len + 1);
	if (!hex)
		return cli_error(cli, -ENOMEM, "no memory");
	doc = cli_json_new();
	json_object_object_add(doc, "log_id", json_object_new_int64(args->lid));
	json_object_object_add(doc, "data", json_object_new_string(hex_text(buf, args->len, hex)));
	free(hex);
	return cli_json(cli, doc);
}

static int get_log(struct cli *cli, const struct args *args)
{
	uint32_t nsid = args->conn.nsid ? args->conn.nsid : NVME_NSID_ALL;
	uint8_t *buf;
	struct conn c;
	int ret = check_args(cli, args);

	if (ret)
		return ret;
	buf = calloc(1, args->len);
	if (!buf)
		return cli_error(cli, -ENOMEM, "no memory for %llu bytes", (unsigned long long)args->len);
	ret = conn_open(&c, &args->conn, CONN_ADMIN);
	if (!ret)
		ret = conn_status(
			&c,
			nvof_get_log_sync(c.ctrl, (uint8_t)args->lid, (uint8_t)args->lsp, args->rae, nsid, args->offset, buf, args->len),
			"Get Log Page");
	conn_close(&c);
	if (!ret)
		ret = show(cli, args, buf);
	free(buf);
	return ret;
}

int cmd_get_log(struct cli *cli, int argc, char **argv)
{
	struct args args = { .len = 512 };
	int ret;

	conn_args_init(&args.conn, cli);
	ret = conn_parse(&usage, (struct opt_group[]){ { "Options", opts, &args }, { 0 } }, &args.conn, argc, argv);
	if (ret == OPTS_GO)
		ret = get_log(cli, &args);
	conn_args_clear(&args.conn);
	return ret;
}
