/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/size.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"

static int fail(int code, const char *sentence, const char **why)
{
	if (why)
		*why = sentence;
	return code;
}

/* Decimal digits at *text, past which *text is left.  0, -EINVAL (none), -ERANGE. */
static int parse_digits(const char **text, uint64_t *value)
{
	const char *p = *text;
	uint64_t v = 0;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *p - '0', &v))
			return -ERANGE;
	}
	*text = p;
	*value = v;
	return 0;
}

int size_parse(const char *text, uint64_t *bytes, const char **why)
{
	static const char suffixes[] = "kmgt";
	unsigned int shift = 0;
	uint64_t v;
	int ret;

	ret = parse_digits(&text, &v);
	if (ret == -EINVAL)
		return fail(ret, "a size is a whole number of bytes, or one with K, M, G or T behind it (4096, 64M)", why);
	if (ret)
		return fail(ret, "the size is beyond 64 bits", why);
	if (*text) {
		const char lower = (char)(*text | 0x20);
		const char *s = strchr(suffixes, lower);

		if (!s || !*s || text[1])
			return fail(-EINVAL, "a size ends with its digits or with one of K, M, G, T (powers of 1024)", why);
		shift = 10 * (unsigned int)(s - suffixes + 1);
	}
	if (v > UINT64_MAX >> shift)
		return fail(-ERANGE, "the size is beyond 64 bits", why);
	*bytes = v << shift;
	return 0;
}

int duration_parse(const char *text, uint64_t *ns, const char **why)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = { { "ns", 1 }, { "us", NSEC_PER_USEC }, { "ms", NSEC_PER_MSEC }, { "s", NSEC_PER_SEC } };
	uint64_t v;
	size_t i;
	int ret;

	ret = parse_digits(&text, &v);
	if (ret == -ERANGE)
		return fail(ret, "the duration is too long", why);
	for (i = 0; !ret && i < ARRAY_SIZE(units); i++) {
		if (strcmp(text, units[i].unit))
			continue;
		if (__builtin_mul_overflow(v, units[i].ns, ns))
			return fail(-ERANGE, "the duration is too long", why);
		return 0;
	}
	return fail(-EINVAL, "a duration is a whole number with its unit: ns, us, ms or s (5ms)", why);
}

char *size_format(uint64_t bytes, char buf[24])
{
	static const char suffixes[] = "\0KMGT";
	unsigned int i = 0;

	while (bytes && i < 4 && !(bytes & 1023)) {
		bytes >>= 10;
		i++;
	}
	/* A NUL as the suffix just ends the text earlier. */
	snprintf(buf, 24, "%" PRIu64 "%c", bytes, suffixes[i]);
	return buf;
}
