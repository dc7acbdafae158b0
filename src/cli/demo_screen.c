/* SPDX-License-Identifier: BSD-3-Clause */
/* The demo's one screen: plain text, colour on a terminal alone, bars of characters. */
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/demo.h"

#define BAR_WIDTH 46

struct look {
	bool utf8;
	const char *bold, *good, *bad, *bar1, *bar2, *soft, *off;
};

static struct look look_of_stdout(void)
{
	static const struct look plain = { .bold = "", .good = "", .bad = "", .bar1 = "", .bar2 = "", .soft = "", .off = "" };
	static const struct look colour = { .bold = "\033[1m",
					    .good = "\033[32m",
					    .bad = "\033[31m",
					    .bar1 = "\033[33m",
					    .bar2 = "\033[32m",
					    .soft = "\033[2m",
					    .off = "\033[0m" };
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	bool colours = isatty(STDOUT_FILENO) && !(no_color && *no_color) && term && strcmp(term, "dumb");
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	struct look look = colours ? colour : plain;

	if (locale != (locale_t)0) {
		look.utf8 = !strcmp(nl_langinfo_l(CODESET, locale), "UTF-8");
		freelocale(locale);
	}
	return look;
}

/* A bar in eighths of a character, as long as it has to be and never empty; padded to the full width. */
static void print_bar(const struct look *look, const char *colour, double part)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	int units = (int)(part * BAR_WIDTH * 8 + 0.5), full, rest;

	if (!look->utf8)
		units = (units + 4) / 8 * 8;
	if (units < (look->utf8 ? 1 : 8))
		units = look->utf8 ? 1 : 8;
	full = units / 8;
	rest = units % 8;
	fputs(colour, stdout);
	for (int i = 0; i < full; i++)
		fputs(look->utf8 ? "█" : "#", stdout);
	fputs(eighths[rest], stdout);
	printf("%s%*s", look->off, BAR_WIDTH - full - (rest > 0), "");
}

/* "43.2 k", "1.25 M" */
static const char *per_s(double v, char *buf, size_t len)
{
	if (v >= 1e6)
		snprintf(buf, len, "%.2f M", v / 1e6);
	else if (v >= 1e4)
		snprintf(buf, len, "%.0f k", v / 1e3);
	else if (v >= 1e3)
		snprintf(buf, len, "%.1f k", v / 1e3);
	else
		snprintf(buf, len, "%.0f", v);
	return buf;
}

static const char *micro(const struct hist *lat, double q, const struct look *look, char *buf, size_t len)
{
	double us = (double)hist_quantile(lat, q) / NSEC_PER_USEC;

	if (us >= 10000)
		snprintf(buf, len, "%.1f ms", us / 1000);
	else
		snprintf(buf, len, "%.0f %s", us, look->utf8 ? "µs" : "us");
	return buf;
}

static void print_setup(const struct demo *demo, const struct look *look)
{
	double serial = demo->serial.times.total_us / 1000, parallel = demo->parallel.times.total_us / 1000;
	double longest = serial > parallel ? serial : parallel;

	printf("  %s1  Connect %u I/O queues%s to a target that ", look->bold, nvof_ctrl_nr_io_queues(demo->ctrl), look->off);
	if (demo->delay_ms)
		printf("takes %u ms for each answer\n\n", (unsigned int)demo->delay_ms);
	else
		printf("answers at once\n\n");
	printf("     one by one    ");
	print_bar(look, look->bar1, serial / longest);
	printf(" %6.0f ms\n     all together  ", serial);
	print_bar(look, look->bar2, parallel / longest);
	printf(" %6.0f ms\n%*s%s%.1f times as fast%s\n\n", parallel, 19, "", look->bold, serial / parallel, look->off);
}

static void print_verify(const struct demo *demo, const struct look *look)
{
	printf("  %s2  Write, read back, compare%s: %u MiB in %u namespaces\n\n     ", look->bold, look->off,
	       (unsigned int)(demo->verified_bytes >> 20), demo->nr_namespaces);
	if (demo->nr_bad_ns)
		printf("%s%u namespaces gave back something else%s\n\n", look->bad, demo->nr_bad_ns, look->off);
	else
		printf("%severy byte as written%s\n\n", look->good, look->off);
}

static void print_io(const struct demo *demo, const struct look *look)
{
	char iops[24], rate[24], half[24], most[24];

	printf("  %s3  Read%s at random over one queue, nothing slowed down\n\n", look->bold, look->off);
	printf("     %s%-24s %9s %11s   %11s %12s%s\n", look->soft, "", "reads/s", "bytes/s", "half within", "99 % within", look->off);
	for (size_t i = 0; i < DEMO_NR_IO; i++) {
		const struct demo_io *io = &demo->io[i];
		double seconds = (double)io->elapsed_ns / NSEC_PER_SEC, bytes_per_s = (double)io->nr_ios * io->bytes / seconds;
		/* "µ" is two bytes and one column. */
		int wide = look->utf8 ? 1 : 0;

		per_s((double)io->nr_ios / seconds, iops, sizeof(iops));
		snprintf(rate, sizeof(rate), bytes_per_s >= 1e9 ? "%.2f GB" : "%.0f MB",
			 bytes_per_s >= 1e9 ? bytes_per_s / 1e9 : bytes_per_s / 1e6);
		micro(&io->lat, 0.5, look, half, sizeof(half));
		micro(&io->lat, 0.99, look, most, sizeof(most));
		printf("     %-24s %9s %11s   %*s %*s\n", io->name, iops, rate, 11 + (wide && strstr(half, "µ")), half,
		       12 + (wide && strstr(most, "µ")), most);
	}
	printf("\n");
}

void demo_screen(const struct demo *demo, bool has_report)
{
	struct look look = look_of_stdout();

	printf("\n  %snvof %s%s  a host and a target of NVMe over Fabrics, both in user space\n\n", look.bold, nvof_version(), look.off);
	print_setup(demo, &look);
	print_verify(demo, &look);
	print_io(demo, &look);
	if (has_report)
		printf("  Queue by queue, and the latency curve, in your browser: %s%s%s\n\n", look.bold, demo->report, look.off);
}
