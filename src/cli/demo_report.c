/* SPDX-License-Identifier: BSD-3-Clause */
/* The report: the page demo_report.html, which is part of the program, with the data put in its place. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/demo.h"
#include "cli/demo_report_html.h" /* generated */

int demo_write_report(const struct demo *demo, json_object *doc)
{
	static const char mark[] = "@DATA@";
	const unsigned char *cut = memmem(demo_report_html, sizeof(demo_report_html), mark, sizeof(mark) - 1);
	const unsigned char *tail = cut + sizeof(mark) - 1, *end = demo_report_html + sizeof(demo_report_html);
	/* json-c writes "/" as "\/", so that no text can end the page's script element. */
	const char *data = json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PLAIN);
	FILE *f = fopen(demo->report, "w");
	int failed;

	if (!f)
		return cli_error(demo->cli, -errno, "writing the report %s: %s", demo->report, strerror(errno));
	fwrite(demo_report_html, 1, (size_t)(cut - demo_report_html), f);
	fputs(data, f);
	fwrite(tail, 1, (size_t)(end - tail), f);
	failed = ferror(f);
	if (fclose(f) || failed)
		return cli_error(demo->cli, -errno, "writing the report %s: %s", demo->report, strerror(errno));
	return EXIT_OK;
}
