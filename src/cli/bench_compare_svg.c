/* SPDX-License-Identifier: BSD-3-Clause */
/* bench io --compare: the picture.  One panel for each measure, a bar for each variant, a dot for each round; it needs nothing else. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "base/util.h"
#include "cli/bench_compare.h"

#define WIDTH	980
#define LEFT	200 /* where bars begin */
#define RIGHT	110 /* room for their figures */
#define ROW	22
#define TOP	70
#define GAP	42 /* a panel's title */
#define BAR_MAX (WIDTH - LEFT - RIGHT)

static const char style[] =
	"svg { background: #fff; font: 12px system-ui, sans-serif; --ink: #1f2430; --dim: #6b7280; --line: #e2e5ea; }\n"
	"text { fill: var(--ink); } .dim { fill: var(--dim); } .title { font-size: 16px; font-weight: 600; } .panel { font-weight: 600; }\n"
	".end { text-anchor: end; } .bar { fill: #6c8ebf; } .best { fill: #2f9e6e; } .dot { fill: var(--ink); fill-opacity: .35; }\n"
	".axis { stroke: var(--line); }\n"
	"@media (prefers-color-scheme: dark) { svg { background: #14171d; --ink: #e6e8ec; --dim: #9aa2af; --line: #2b303a; } }\n";

static const char *const panels[] = { "bytes_per_s", "p50_us", "p99_us", "cpu_us", "connect_ms", "memory_kib" };

static const char *panel_title(const struct measure *m)
{
	static const struct {
		const char *key, *title;
	} titles[] = {
		{ "bytes_per_s", "Throughput, MB/s" },	      { "p50_us", "Latency, median, us" },
		{ "p99_us", "Latency, 99th percentile, us" }, { "cpu_us", "CPU time of the host for each I/O, us" },
		{ "connect_ms", "Connect, all ctrls, ms" },   { "memory_kib", "Memory of the host, KiB" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(titles); i++)
		if (!strcmp(titles[i].key, m->key))
			return titles[i].title;
	return m->title;
}

static const struct measure *measure_of(const char *key)
{
	const struct measure *m = compare_measures;

	while (strcmp(m->key, key))
		m++;
	return m;
}

static double sample_of(const struct compared *c, size_t variant, uint32_t round, const struct measure *m)
{
	return *(const double *)((const char *)compared_sample(c, variant, round) + m->offset);
}

/* Of all rounds: the end of the axis. */
static double most(const struct compared *c, const struct measure *m)
{
	double max = 0;

	for (size_t v = 0; v < c->nr_variants; v++)
		for (uint32_t r = 0; r < compared_nr_runs(c, v); r++)
			if (sample_of(c, v, r, m) > max)
				max = sample_of(c, v, r, m);
	return max > 0 ? max : 1;
}

static bool is_best(const struct compared *c, size_t variant, const struct measure *m)
{
	double mine = compared_median(c, variant, m);

	for (size_t v = 0; v < c->nr_variants && compared_nr_runs(c, v); v++) {
		double other = compared_median(c, v, m);

		if (m->more_is_better ? other > mine : other < mine)
			return false;
	}
	return true;
}

static void draw_row(FILE *f, const struct compared *c, size_t v, const struct measure *m, double max, int y)
{
	double median = compared_median(c, v, m);

	fprintf(f, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"14\" rx=\"2\" class=\"%s\"/>\n", LEFT, y + 4, median / max * BAR_MAX,
		is_best(c, v, m) ? "best" : "bar");
	for (uint32_t r = 0; r < compared_nr_runs(c, v); r++)
		fprintf(f, "<circle cx=\"%.1f\" cy=\"%d\" r=\"2.5\" class=\"dot\"/>\n", LEFT + sample_of(c, v, r, m) / max * BAR_MAX,
			y + 11);
	fprintf(f, "<text x=\"%d\" y=\"%d\" class=\"end\">%.*f</text>\n", WIDTH - 16, y + 15, m->digits, median * m->scale);
}

static void draw_panel(FILE *f, const struct compared *c, const struct measure *m, int y)
{
	double max = most(c, m);

	fprintf(f, "<text x=\"16\" y=\"%d\" class=\"panel\">%s</text>\n", y + 14, panel_title(m));
	y += GAP - ROW;
	fprintf(f, "<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%zu\" class=\"axis\"/>\n", LEFT, LEFT, y, (size_t)y + c->nr_variants * ROW);
	for (size_t v = 0; v < c->nr_variants; v++, y += ROW) {
		fprintf(f, "<text x=\"%d\" y=\"%d\" class=\"end\">%s</text>\n", LEFT - 10, y + 15, c->variants[v].name);
		if (compared_nr_runs(c, v))
			draw_row(f, c, v, m, max, y);
	}
}

static void draw(FILE *f, const struct compared *c)
{
	size_t panel = c->nr_variants * ROW + GAP, height = TOP + ARRAY_SIZE(panels) * panel + 30;
	char bs[24];

	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %zu\" role=\"img\" aria-label=\"ways to several "
		"connections\">\n",
		WIDTH, height);
	fprintf(f, "<style>\n%s</style>\n<text x=\"16\" y=\"28\" class=\"title\">Ways to several connections</text>\n", style);
	fprintf(f,
		"<text x=\"16\" y=\"48\" class=\"dim\">%s, %s, %" PRIu32 " in flight in all, one submitting thread, %" PRIu32
		" rounds of %.3g s%s</text>\n",
		c->args->rw_name, size_format(c->args->bs, bs), c->args->iodepth, compared_nr_rounds(c), (double)c->args->runtime_ms / 1000,
		c->nr_samples % c->nr_variants ? " and a part of one" : "");
	for (size_t i = 0; i < ARRAY_SIZE(panels); i++)
		draw_panel(f, c, measure_of(panels[i]), (int)(TOP + i * panel));
	fprintf(f, "<text x=\"16\" y=\"%zu\" class=\"dim\">Bars: medians; dots: rounds; green: the best.</text>\n</svg>\n", height - 12);
}

static int failed(struct cli *cli, const struct compared *c, int err)
{
	return cli_argument_error(cli, "--svg", -err, "--svg: writing %s: %s", c->args->svg, strerror(err));
}

int bench_compare_svg_open(struct cli *cli, struct compared *c)
{
	if (!c->args->svg)
		return EXIT_OK;
	c->svg = fopen(c->args->svg, "we");
	return c->svg ? EXIT_OK : failed(cli, c, errno);
}

int bench_compare_svg(struct cli *cli, struct compared *c)
{
	FILE *f = c->svg;
	int err = 0;

	if (!f)
		return EXIT_OK;
	c->svg = NULL;
	if (c->nr_samples)
		draw(f, c);
	else
		cli_warn(cli, "--svg: %s is empty: nothing was measured", c->args->svg);
	if (fflush(f))
		err = errno;
	if (fclose(f) && !err)
		err = errno;
	return err ? failed(cli, c, err) : EXIT_OK;
}
