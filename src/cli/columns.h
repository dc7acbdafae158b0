/* SPDX-License-Identifier: BSD-3-Clause */
/* Measured times of several runs: a table of columns, each a double in microseconds somewhere in a struct; shown in milliseconds. */
#ifndef NVOF_CLI_COLUMNS_H
#define NVOF_CLI_COLUMNS_H

#include <json-c/json.h>
#include <stddef.h>

struct column {
	const char *key, *title; /* key NULL ends the table; "total_ms", "total ms" */
	size_t offset;
};

/* size: of the struct.  *median: the median of each column. */
void columns_median(const struct column *columns, const void *runs, size_t nr, size_t size, void *median);
json_object *columns_json(const struct column *columns, const void *run);
/* All runs and the median as "runs" and "median" of doc; without runs no median. */
void columns_add_json(const struct column *columns, const void *runs, size_t nr, size_t size, json_object *doc);
void columns_print(const struct column *columns, const void *runs, size_t nr, size_t size);

#endif
