/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/opts.h"

int cmd_version(struct cli *cli, int argc, char **argv)
{
	static const struct usage usage = { "", "Prints the version of the tool and of libnvof.", "$ nvof version" };
	struct opt_group groups[] = { opt_group_common(cli), { 0 } };
	json_object *doc;
	int ret = opts_parse(cli, &usage, groups, argc, argv, NULL, NULL);

	if (ret != OPTS_GO)
		return ret;
	if (!cli->json) {
		printf("nvof version %s\n", nvof_version());
		return EXIT_OK;
	}
	doc = cli_json_new();
	json_object_object_add(doc, "version", json_object_new_string(nvof_version()));
	return cli_json(cli, doc);
}
