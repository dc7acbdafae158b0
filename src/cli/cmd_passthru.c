/* SPDX-License-Identifier: BSD-3-Clause */
/* admin-passthru and io-passthru: any command, as it is. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/conn.h"
#include "cli/fields.h"

#define DATA_LEN_MAX (64u << 20)
#define EXAMPLE_URI  "nvme+tcp://127.0.0.1:4420/nqn.2026-11.org.example:nvof"
#define SYNOPSIS     "[-t TRANSPORT] -a ADDR [-s PORT] -n NQN --opcode N [OPTION]... | URI"

struct args {
	struct conn_args conn;
	uint32_t opcode, flags, prefill;
	uint32_t cdw2, cdw3, cdw10, cdw11, cdw12, cdw13, cdw14, cdw15;
	uint64_t len;
	const char *file;
	bool read, write, raw;
};

#define CDW(n, letter)                                                                                  \
	{                                                                                               \
		letter, "cdw" #n, OPT_U32, OFFSET(struct args, cdw##n), "N", "dword " #n " (default 0)" \
	}

/* clang-format off */
static const struct opt opts[] = {
	{ 0, "opcode", OPT_U32, OFFSET(struct args, opcode), "N", "the opcode", .max = 255 },
	{ 0, "flags", OPT_U32, OFFSET(struct args, flags), "N", "bits 15:08 of dword 0 (default 0)", .max = 255 },
	CDW(2, '2'),
	CDW(3, '3'),
	CDW(10, '4'),
	CDW(11, '5'),
	CDW(12, '6'),
	CDW(13, '7'),
	CDW(14, '8'),
	CDW(15, '9'),
	{ 'l', "data-len", OPT_SIZE, OFFSET(struct args, len), "BYTES", "bytes of data (default 0)", .max = DATA_LEN_MAX },
	{ 'r', "read", OPT_FLAG, OFFSET(struct args, read), NULL, "data come from the ctrl" },
	{ 0, "write", OPT_FLAG, OFFSET(struct args, write), NULL, "data go to the ctrl" },
	{ 0, "input-file", OPT_STR, OFFSET(struct args, file), "FILE", "what to send, or where to put what comes (default: standard input, output)" },
	{ 'p', "prefill", OPT_U32, OFFSET(struct args, prefill), "N", "the byte a receiving buffer holds before (default 0)", .max = 255 },
	{ 'b', "raw-binary", OPT_FLAG, OFFSET(struct args, raw), NULL, "received bytes as they came" },
	{ 0 }
};
/* clang-format on */

#define OPCODE_MISSING UINT32_MAX

static int check_args(struct cli *cli, const struct args *args)
{
	if (args->opcode == OPCODE_MISSING)
		return cli_usage_error(cli, "--opcode", "--opcode is missing");
	if (args->read && args->write)
		return cli_usage_error(cli, "--read", "--read and --write exclude one another");
	if (!args->len != !(args->read || args->write))
		return cli_usage_error(cli, "--data-len", "--data-len goes with --read or --write");
	if (args->raw && cli->json)
		return cli_usage_error(cli, "--raw-binary", "--raw-binary and -o json exclude one another");
	return EXIT_OK;
}

static int load(struct cli *cli, const struct args *args, uint8_t *buf)
{
	const char *name = args->file ? args->file : "standard input";
	FILE *f = args->file ? fopen(args->file, "re") : stdin;
	size_t n;
	int err;

	if (!f)
		return cli_argument_error(cli, "--input-file", -errno, "--input-file: %s: %s", name, strerror(errno));
	errno = 0;
	n = fread(buf, 1, args->len, f);
	err = ferror(f) ? errno : 0;
	if (f != stdin)
		fclose(f);
	if (err)
		return cli_argument_error(cli, "--input-file", -err, "--input-file: %s: %s", name, strerror(err));
	if (n < args->len)
		return cli_usage_error(cli, "--input-file", "%s has %zu bytes, --data-len says %llu", name, n,
				       (unsigned long long)args->len);
	return EXIT_OK;
}

static int save(struct cli *cli, const struct args *args, const uint8_t *buf)
{
	FILE *f = fopen(args->file, "we");
	bool ok;

	if (!f)
		return cli_argument_error(cli, "--input-file", -errno, "--input-file: %s: %s", args->file, strerror(errno));
	ok = fwrite(buf, 1, args->len, f) == args->len;
	ok = !fclose(f) && ok;
	return ok ? EXIT_OK : cli_error(cli, -errno, "%s: %s", args->file, strerror(errno));
}

static int show_json(struct cli *cli, const struct args *args, uint64_t result, const uint8_t *buf)
{
	json_object *doc = cli_json_new();
	char *hex;

	json_object_object_add(doc, "result", json_object_new_uint64(result));
	if (args->read && !args->file) {
		hex = malloc(2 * args->len + 1);
		if (!hex)
			abort();
		json_object_object_add(doc, "data", json_object_new_string(hex_text(buf, args->len, hex)));
		free(hex);
	}
	return cli_json(cli, doc);
}

static int show(struct cli *cli, const struct args *args, uint64_t result, const uint8_t *buf)
{
	if (args->read && args->file) {
		int ret = save(cli, args, buf);

		if (ret)
			return ret;
	}
	if (cli->json)
		return show_json(cli, args, result, buf);
	if (args->read && args->raw && !args->file) {
		fwrite(buf, args->len, 1, stdout);
		return EXIT_OK;
	}
	printf("%s: result 0x%016" PRIx64 "\n", cli->cmd->name, result);
	if (args->read && !args->file)
		hex_dump(buf, args->len);
	return EXIT_OK;
}

static int send_cmd(struct conn *c, const struct args *args, bool admin, uint8_t *buf, uint64_t *result)
{
	const struct nvof_cmd cmd = {
		.opcode = (uint8_t)args->opcode,
		.flags = (uint8_t)args->flags,
		.nsid = args->conn.nsid,
		.cdw2 = args->cdw2,
		.cdw3 = args->cdw3,
		.cdw10 = args->cdw10,
		.cdw11 = args->cdw11,
		.cdw12 = args->cdw12,
		.cdw13 = args->cdw13,
		.cdw14 = args->cdw14,
		.cdw15 = args->cdw15,
	};
	enum nvof_dir dir = args->read ? NVOF_DIR_FROM_CTRL : args->write ? NVOF_DIR_TO_CTRL : NVOF_DIR_NONE;
	struct conn_wait w = { .done = false };
	char what[32];
	int ret;

	if (admin)
		ret = nvof_admin_passthru(c->ctrl, &cmd, dir, buf, args->len, conn_wait_cb, &w);
	else
		ret = nvof_io_passthru(nvof_ctrl_hctx(c->ctrl, 0), &cmd, dir, buf, args->len, conn_wait_cb, &w);
	ret = conn_wait(c, &w, ret);
	*result = w.cpl.result;
	snprintf(what, sizeof(what), "opcode %02Xh", args->opcode);
	return conn_status(c, ret, what);
}

static int passthru(struct cli *cli, const struct args *args, bool admin)
{
	uint8_t *buf = NULL;
	uint64_t result = 0;
	struct conn c;
	int ret = check_args(cli, args);

	if (ret)
		return ret;
	if (args->len) {
		buf = malloc(args->len);
		if (!buf)
			return cli_error(cli, -ENOMEM, "no memory for %llu bytes", (unsigned long long)args->len);
		memset(buf, (int)args->prefill, args->len);
	}
	if (args->write)
		ret = load(cli, args, buf);
	if (ret)
		goto out;
	ret = conn_open(&c, &args->conn, CONN_ADMIN);
	if (!ret)
		ret = send_cmd(&c, args, admin, buf, &result);
	conn_close(&c);
	if (!ret)
		ret = show(cli, args, result, buf);
out:
	free(buf);
	return ret;
}

static int run(struct cli *cli, bool admin, const struct usage *usage, int argc, char **argv)
{
	struct args args = { .opcode = OPCODE_MISSING };
	int ret;

	conn_args_init(&args.conn, cli);
	ret = conn_parse(usage, (struct opt_group[]){ { "The command", opts, &args }, { 0 } }, &args.conn, argc, argv);
	if (ret == OPTS_GO)
		ret = passthru(cli, &args, admin);
	conn_args_clear(&args.conn);
	return ret;
}

int cmd_admin_passthru(struct cli *cli, int argc, char **argv)
{
	static const struct usage usage = { SYNOPSIS, "Sends any admin command and shows its result.",
					    "$ nvof admin-passthru " EXAMPLE_URI " --opcode 6 --cdw10 1 --data-len 4096 --read" };

	return run(cli, true, &usage, argc, argv);
}

int cmd_io_passthru(struct cli *cli, int argc, char **argv)
{
	static const struct usage usage = { SYNOPSIS, "Sends any I/O command and shows its result.",
					    "$ nvof io-passthru " EXAMPLE_URI "/1 --opcode 2 --data-len 512 --read" };

	return run(cli, false, &usage, argc, argv);
}
