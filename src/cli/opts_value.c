/* SPDX-License-Identifier: BSD-3-Clause */
/* The value of one option: from text to its type, with a sentence for what is wrong with it. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/util.h"
#include "cli/opts.h"

char *sentence(const char *fmt, ...)
{
	va_list ap;
	char *s;
	int ret;

	va_start(ap, fmt);
	ret = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (ret < 0)
		abort();
	return s;
}

/* Decimal or 0x; nothing before or after. */
static char *parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *v)
{
	unsigned long long n;
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return sentence("\"%s\" is not a number", text);
	errno = 0;
	n = strtoull(text, &end, !strncasecmp(text, "0x", 2) ? 16 : 10);
	if (*end || end == text)
		return sentence("\"%s\" is not a number", text);
	if (errno == ERANGE || n < min || n > max)
		return sentence("%s is out of range: %" PRIu64 " to %" PRIu64, text, min, max);
	*v = n;
	return NULL;
}

static char *parse_int(const char *text, int64_t min, int64_t max, int *v)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (*end || end == text || text[0] == ' ')
		return sentence("\"%s\" is not a number", text);
	if (errno == ERANGE || n < min || n > max)
		return sentence("%s is out of range: %" PRId64 " to %" PRId64, text, min, max);
	*v = (int)n;
	return NULL;
}

static char *parse_size(const char *text, uint64_t min, uint64_t max, uint64_t *v)
{
	char from[24], to[24];
	const char *why;
	uint64_t n;

	if (size_parse(text, &n, &why))
		return sentence("\"%s\": %s", text, why);
	if (n < min || n > max)
		return sentence("%s is out of range: %s to %s", text, size_format(min, from), size_format(max, to));
	*v = n;
	return NULL;
}

/* "500ms" and the like; a bare number is seconds, as in most tools' --runtime. */
static char *parse_ms(const char *text, uint64_t min, uint64_t max, uint64_t *v)
{
	const char *why;
	uint64_t n;
	char *end;

	errno = 0;
	n = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
	if (text[0] >= '0' && text[0] <= '9' && (!*end || !strcmp(end, "m")) && !errno && n <= UINT32_MAX)
		n *= *end ? 60000 : 1000;
	else if (duration_parse(text, &n, &why))
		return sentence("\"%s\": a time is a number of seconds, or one with its unit: us, ms, s or m (500ms)", text);
	else
		n /= NSEC_PER_MSEC;
	if (n < min || n > max)
		return sentence("%s is out of range: %" PRIu64 " ms to %" PRIu64 " ms", text, min, max);
	*v = n;
	return NULL;
}

char *opt_set(const struct opt *opt, void *base, const char *value)
{
	char *at = (char *)base + opt->offset;
	uint64_t n;
	char *why;

	switch (opt->kind) {
	case OPT_FLAG:
	case OPT_NOFLAG:
		*(bool *)at = opt->kind == OPT_FLAG;
		return NULL;
	case OPT_COUNT:
		++*(int *)at;
		return NULL;
	case OPT_STR:
		*(const char **)at = value;
		return NULL;
	case OPT_U32:
		why = parse_u64(value, opt->min, opt->max ? opt->max : UINT32_MAX, &n);
		if (!why)
			*(uint32_t *)at = (uint32_t)n;
		return why;
	case OPT_U64:
		return parse_u64(value, opt->min, opt->max ? opt->max : UINT64_MAX, (uint64_t *)at);
	case OPT_INT:
		return parse_int(value, opt->imin, opt->imax, (int *)at);
	case OPT_SIZE:
		return parse_size(value, opt->min, opt->max ? opt->max : UINT64_MAX, (uint64_t *)at);
	case OPT_MS:
		return parse_ms(value, opt->min, opt->max ? opt->max : UINT32_MAX, (uint64_t *)at);
	case OPT_CALL:
		return opt->call(base, value);
	}
	abort();
}
