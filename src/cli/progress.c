/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/progress.h"

#define SHOW_EVERY_NS (200 * NSEC_PER_MSEC)

const char *bytes_text(double bytes, char buf[16])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	size_t i = 0;

	while (bytes >= 1024 && i + 1 < ARRAY_SIZE(units)) {
		bytes /= 1024;
		i++;
	}
	snprintf(buf, 16, "%.*f %s", !i ? 0 : bytes < 10 ? 2 : bytes < 100 ? 1 : 0, bytes, units[i]);
	return buf;
}

void progress_start(struct progress *p, const char *what, uint64_t total_bytes)
{
	*p = (struct progress){ .what = what, .total = total_bytes, .start_ns = clock_ns(), .on = isatty(STDERR_FILENO) == 1 };
	p->shown_ns = p->start_ns;
}

static bool due(struct progress *p)
{
	uint64_t now;

	if (!p->on)
		return false;
	now = clock_ns();
	if (now - p->shown_ns < SHOW_EVERY_NS)
		return false;
	p->shown_ns = now;
	p->shown = true;
	return true;
}

void progress_update(struct progress *p, uint64_t done)
{
	char have[16], total[16], rate_text[16];
	double s, rate;
	unsigned int eta;

	if (!due(p))
		return;
	s = (double)(p->shown_ns - p->start_ns) / NSEC_PER_SEC;
	rate = (double)done / s;
	eta = done ? (unsigned int)((double)(p->total - done) / rate + 0.5) : 0;
	fprintf(stderr, "\r\033[K%s: %3.0f %%  %s of %s  %s/s  %u:%02u left", p->what, 100.0 * (double)done / (double)p->total,
		bytes_text((double)done, have), bytes_text((double)p->total, total), bytes_text(rate, rate_text), eta / 60, eta % 60);
}

void progress_say(struct progress *p, const char *fmt, ...)
{
	va_list ap;

	if (!due(p))
		return;
	fprintf(stderr, "\r\033[K%s: ", p->what);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
}

void progress_end(struct progress *p)
{
	if (p->shown)
		fprintf(stderr, "\r\033[K");
	p->shown = false;
}
