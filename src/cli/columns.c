/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/columns.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/text.h"

#define US_PER_MS 1000.0

static double value_of(const struct column *column, const void *run)
{
	return *(const double *)((const char *)run + column->offset);
}

static const void *run_of(const void *runs, size_t size, size_t i)
{
	return (const char *)runs + i * size;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void columns_median(const struct column *columns, const void *runs, size_t nr, size_t size, void *median)
{
	double *values = calloc(nr, sizeof(*values));

	if (!values)
		abort();
	for (const struct column *c = columns; c->key; c++) {
		for (size_t i = 0; i < nr; i++)
			values[i] = value_of(c, run_of(runs, size, i));
		qsort(values, nr, sizeof(*values), by_value);
		*(double *)((char *)median + c->offset) = nr % 2 ? values[nr / 2] : (values[nr / 2 - 1] + values[nr / 2]) / 2;
	}
	free(values);
}

json_object *columns_json(const struct column *columns, const void *run)
{
	json_object *o = json_object_new_object();

	for (const struct column *c = columns; c->key; c++)
		json_object_object_add(o, c->key, number_json(value_of(c, run) / US_PER_MS));
	return o;
}

void columns_add_json(const struct column *columns, const void *runs, size_t nr, size_t size, json_object *doc)
{
	json_object *list = json_object_new_array();
	void *median = calloc(1, size);

	if (!median)
		abort();
	json_object_object_add(doc, "runs", list);
	for (size_t i = 0; i < nr; i++)
		json_object_array_add(list, columns_json(columns, run_of(runs, size, i)));
	if (nr) {
		columns_median(columns, runs, nr, size, median);
		json_object_object_add(doc, "median", columns_json(columns, median));
	}
	free(median);
}

static void print_run(const struct column *columns, const char *name, const void *run)
{
	printf("%-8s", name);
	for (const struct column *c = columns; c->key; c++)
		printf("%15.3f", value_of(c, run) / US_PER_MS);
	putchar('\n');
}

void columns_print(const struct column *columns, const void *runs, size_t nr, size_t size)
{
	void *median = calloc(1, size);
	char name[24];

	if (!median)
		abort();
	printf("%-8s", "run");
	for (const struct column *c = columns; c->key; c++)
		printf("%15s", c->title);
	putchar('\n');
	for (size_t i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "%zu", i + 1);
		print_run(columns, name, run_of(runs, size, i));
	}
	if (nr) {
		columns_median(columns, runs, nr, size, median);
		print_run(columns, "median", median);
	}
	free(median);
}
