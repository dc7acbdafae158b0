/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/identify.h"

int identify_run(struct cli *cli, const struct usage *usage, int argc, char **argv,
		 int (*show)(struct cli *cli, const struct identify_args *args))
{
	/* clang-format off */
	static const struct opt opts[] = {
		{ 'b', "raw-binary", OPT_FLAG, OFFSET(struct identify_args, raw), NULL, "the 4096 bytes as they came" },
		{ 0 }
	};
	/* clang-format on */
	struct identify_args args = { .raw = false };
	int ret;

	conn_args_init(&args.conn, cli);
	ret = conn_parse(usage, (struct opt_group[]){ { "Options", opts, &args }, { 0 } }, &args.conn, argc, argv);
	if (ret == OPTS_GO && args.raw && cli->json)
		ret = cli_usage_error(cli, "--raw-binary", "--raw-binary and -o json exclude one another");
	if (ret == OPTS_GO)
		ret = show(cli, &args);
	conn_args_clear(&args.conn);
	return ret;
}
