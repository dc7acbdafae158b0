/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/nqn.h"

#include <ctype.h>
#include <string.h>

#include <uuid/uuid.h>

#include "proto/cmd.h"

#define NQN_UUID_PREFIX "nqn.2014-08.org.nvmexpress:uuid:"

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Decodes one character of at most 4 bytes; returns how many, 0 when it is not UTF-8 (over-long forms and surrogates included). */
static size_t utf8_char(const unsigned char *s, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t i, n;

	if (s[0] < 0x80)
		n = 1, *code = s[0];
	else if ((s[0] & 0xe0) == 0xc0)
		n = 2, *code = s[0] & 0x1f;
	else if ((s[0] & 0xf0) == 0xe0)
		n = 3, *code = s[0] & 0x0f;
	else if ((s[0] & 0xf8) == 0xf0)
		n = 4, *code = s[0] & 0x07;
	else
		return 0;
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80) /* the terminating NUL as well */
			return 0;
		*code = *code << 6 | (s[i] & 0x3f);
	}
	if (*code < least[n] || *code > 0x10ffff || (*code >= 0xd800 && *code <= 0xdfff))
		return 0;
	return n;
}

const char *nqn_check_text(const char *nqn)
{
	const unsigned char *s = (const unsigned char *)nqn;
	uint32_t code;
	size_t n;

	if (!*nqn)
		return "the NQN is empty";
	if (strnlen(nqn, NVMF_NQN_MAX + 1) > NVMF_NQN_MAX)
		return "the NQN is longer than 223 bytes";
	for (; *s; s += n) {
		n = utf8_char(s, &code);
		if (!n)
			return "the NQN is not UTF-8";
		if (code < 0x20 || (code >= 0x7f && code < 0xa0))
			return "the NQN has a control character";
	}
	return NULL;
}

/* "yyyy-mm." */
static bool is_date(const char *s)
{
	int i, month;

	for (i = 0; i < 7; i++)
		if (i == 4 ? s[i] != '-' : !isdigit((unsigned char)s[i]))
			return false;
	month = (s[5] - '0') * 10 + s[6] - '0';
	return month >= 1 && month <= 12 && s[7] == '.';
}

const char *nqn_check(const char *nqn)
{
	const char *why = nqn_check_text(nqn);
	uint8_t uuid[16];
	const char *domain;
	size_t len;

	if (why)
		return why;
	if (!starts_with(nqn, "nqn."))
		return "the NQN does not begin with \"nqn.\"";
	if (starts_with(nqn, NQN_UUID_PREFIX))
		return nqn_uuid(nqn, uuid) ? NULL : "the NQN's UUID is malformed";
	if (!is_date(nqn + 4))
		return "the NQN has no date (nqn.yyyy-mm.)";
	domain = nqn + 4 + 8;
	len = strcspn(domain, ":");
	if (!len || !isalnum((unsigned char)domain[0]) || memchr(domain, ' ', len))
		return "the NQN has no reverse domain name after its date";
	if (domain[len] == ':' && !domain[len + 1])
		return "the NQN has nothing after its colon";
	return NULL;
}

const char *nqn_check_wire(const char field[256], size_t *len)
{
	size_t n = strnlen(field, 256);

	if (n == 256)
		return "the NQN is not terminated";
	*len = n;
	return nqn_check(field);
}

bool nqn_uuid(const char *nqn, uint8_t uuid[16])
{
	const char *text = nqn + strlen(NQN_UUID_PREFIX);

	return starts_with(nqn, NQN_UUID_PREFIX) && strlen(text) == 36 && uuid_parse_text(text, uuid);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool uuid_parse_text(const char *text, uint8_t uuid[16])
{
	bool dashes = strnlen(text, 37) == 36;
	uint8_t out[16];
	int i, hi, lo;

	for (i = 0; i < 16; i++) {
		if (dashes && (i == 4 || i == 6 || i == 8 || i == 10) && *text++ != '-')
			return false;
		hi = hex_digit(text[0]);
		lo = hi < 0 ? -1 : hex_digit(text[1]);
		if (lo < 0)
			return false;
		out[i] = (uint8_t)(hi << 4 | lo);
		text += 2;
	}
	if (*text)
		return false;
	memcpy(uuid, out, sizeof(out));
	return true;
}

void uuid_format(const uint8_t uuid[16], char text[37])
{
	uuid_unparse_lower(uuid, text);
}

char *wire_text(char *dst, const char *field, size_t len)
{
	size_t n = strnlen(field, len);

	while (n && field[n - 1] == ' ')
		n--;
	memcpy(dst, field, n);
	dst[n] = '\0';
	return dst;
}
