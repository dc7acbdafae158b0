/* SPDX-License-Identifier: BSD-3-Clause */
/* The grammar of fault.h.  Each key has one small function; what depends on several keys is checked at the end, so their order is free. */
#include "target/fault_rule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/size.h"
#include "proto/cmd.h"

#define FAULT_DELAY_MAX (3600 * NSEC_PER_SEC)

struct parse {
	struct fault_rule *r;
	struct error *err;
	const char *opcode; /* looked up when the point is known */
	unsigned int given; /* bit per key */
};

struct key {
	const char *name;
	int (*set)(struct parse *p, const struct key *key, const char *value);
	bool flag; /* has no value */
};

static const char *const point_names[] = {
	[FAULT_ACCEPT] = "accept", [FAULT_ICREQ] = "icreq", [FAULT_CONNECT] = "connect", [FAULT_ADMIN] = "admin", [FAULT_IO] = "io",
};

static const struct {
	const char *name;
	enum fault_point point;
	uint8_t opcode;
	int fctype; /* or -1 */
} opcode_names[] = {
	{ "flush", FAULT_IO, nvme_cmd_flush, -1 },
	{ "write", FAULT_IO, nvme_cmd_write, -1 },
	{ "read", FAULT_IO, nvme_cmd_read, -1 },
	{ "write-uncor", FAULT_IO, nvme_cmd_write_uncor, -1 },
	{ "compare", FAULT_IO, nvme_cmd_compare, -1 },
	{ "write-zeroes", FAULT_IO, nvme_cmd_write_zeroes, -1 },
	{ "dsm", FAULT_IO, nvme_cmd_dsm, -1 },
	{ "verify", FAULT_IO, nvme_cmd_verify, -1 },
	{ "disconnect", FAULT_IO, NVMF_OPCODE, NVMF_DISCONNECT },
	{ "get-log", FAULT_ADMIN, nvme_admin_get_log_page, -1 },
	{ "identify", FAULT_ADMIN, nvme_admin_identify, -1 },
	{ "abort", FAULT_ADMIN, nvme_admin_abort_cmd, -1 },
	{ "set-features", FAULT_ADMIN, nvme_admin_set_features, -1 },
	{ "get-features", FAULT_ADMIN, nvme_admin_get_features, -1 },
	{ "async-event", FAULT_ADMIN, nvme_admin_async_event, -1 },
	{ "keep-alive", FAULT_ADMIN, nvme_admin_keep_alive, -1 },
	{ "property-set", FAULT_ADMIN, NVMF_OPCODE, NVMF_PROPERTY_SET },
	{ "property-get", FAULT_ADMIN, NVMF_OPCODE, NVMF_PROPERTY_GET },
};

/* Decimal, or hexadecimal with 0x before or h after; the whole of text[0..len). */
static bool parse_number(const char *text, size_t len, uint64_t max, uint64_t *value)
{
	unsigned int base = 10, digit;
	uint64_t v = 0;

	if (len > 2 && text[0] == '0' && (text[1] | 0x20) == 'x') {
		base = 16;
		text += 2;
		len -= 2;
	} else if (len > 1 && (text[len - 1] | 0x20) == 'h') {
		base = 16;
		len--;
	}
	if (!len)
		return false;
	for (; len; len--, text++) {
		if (*text >= '0' && *text <= '9')
			digit = (unsigned int)(*text - '0');
		else if ((*text | 0x20) >= 'a' && (*text | 0x20) <= 'f')
			digit = (unsigned int)((*text | 0x20) - 'a' + 10);
		else
			return false;
		if (digit >= base || v > (UINT64_MAX - digit) / base)
			return false;
		v = v * base + digit;
	}
	*value = v;
	return v <= max;
}

static bool parse_number_str(const char *text, uint64_t max, uint64_t *value)
{
	return parse_number(text, strlen(text), max, value);
}

static int set_on(struct parse *p, const struct key *key, const char *value)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(point_names); i++) {
		if (!strcmp(value, point_names[i])) {
			p->r->point = (enum fault_point)i;
			return 0;
		}
	}
	return error_set(p->err, -EINVAL, "on=%.40s: must be accept, icreq, connect, admin or io", value);
}

static int set_qid(struct parse *p, const struct key *key, const char *value)
{
	uint64_t n = 0;

	if (!strcmp(value, "all"))
		p->r->qid_kind = FAULT_QID_ALL;
	else if (!strcmp(value, "io"))
		p->r->qid_kind = FAULT_QID_IO;
	else if (!strcmp(value, "admin") || parse_number_str(value, UINT16_MAX - 1, &n)) {
		p->r->qid_kind = FAULT_QID_ONE;
		p->r->qid = (uint16_t)n;
	} else
		return error_set(p->err, -EINVAL, "qid=%.40s: must be 0..65534, admin, io or all", value);
	return 0;
}

static int set_opcode(struct parse *p, const struct key *key, const char *value)
{
	p->opcode = value;
	return 0;
}

static int set_nsid(struct parse *p, const struct key *key, const char *value)
{
	uint64_t n;

	if (!parse_number_str(value, UINT32_MAX, &n) || !n)
		return error_set(p->err, -EINVAL, "nsid=%.40s: must be 1..4294967295", value);
	p->r->has_nsid = true;
	p->r->nsid = (uint32_t)n;
	return 0;
}

/* delay, every and for; a window of no length would divide by zero or never open. */
static int set_duration(struct parse *p, const struct key *key, const char *value)
{
	const char *why;
	uint64_t ns;

	if (duration_parse(value, &ns, &why))
		return error_set(p->err, -EINVAL, "%s=%.40s: %s", key->name, value, why);
	if (!ns || ns > FAULT_DELAY_MAX)
		return error_set(p->err, -EINVAL, "%s=%.40s: must be more than 0 and at most 3600s", key->name, value);
	if (key->name[0] == 'd')
		p->r->action.delay_ns = ns;
	else if (key->name[0] == 'e')
		p->r->every_ns = ns;
	else
		p->r->for_ns = ns;
	return 0;
}

static int set_status(struct parse *p, const struct key *key, const char *value)
{
	const char *colon = strchr(value, ':'), *end;
	uint64_t sct, sc;
	uint16_t status;

	if (!colon || !parse_number(value, (size_t)(colon - value), 7, &sct))
		return error_set(p->err, -EINVAL, "status=%.40s: must be SCT:SC[:dnr], SCT 0..7", value);
	end = strchrnul(colon + 1, ':');
	if (!parse_number(colon + 1, (size_t)(end - colon - 1), 255, &sc))
		return error_set(p->err, -EINVAL, "status=%.40s: SC must be 0..255, hexadecimal as 84h or 0x84", value);
	status = (uint16_t)NVME_STATUS(sct, sc);
	if (!status)
		return error_set(p->err, -EINVAL, "status=%.40s: 0:0 is success, which is no fault", value);
	while (*end) {
		const char *word = end + 1;
		size_t len;

		end = strchrnul(word, ':');
		len = (size_t)(end - word);
		if (len == 3 && !strncasecmp(word, "dnr", 3))
			status |= NVME_STATUS_DNR;
		else if (len == 4 && !strncasecmp(word, "more", 4))
			status |= NVME_STATUS_MORE;
		else if (len == 4 && !strncasecmp(word, "crd", 3) && word[3] >= '1' && word[3] <= '3')
			status = (uint16_t)((status & ~(3u << 11)) | (unsigned int)(word[3] - '0') << 11);
		else
			return error_set(p->err, -EINVAL, "status=%.40s: after SC only dnr, more, crd1, crd2 or crd3 may stand", value);
	}
	p->r->action.status = status;
	return 0;
}

static int set_flag(struct parse *p, const struct key *key, const char *value)
{
	if (key->name[0] == 'd')
		p->r->action.drop = true;
	else
		p->r->action.ignore = true;
	return 0;
}

static int set_number(struct parse *p, const struct key *key, const char *value)
{
	uint64_t n;
	bool is_count = key->name[0] == 'c';

	if (!parse_number_str(value, INT64_MAX, &n) || (is_count && !n))
		return error_set(p->err, -EINVAL, "%s=%.40s: must be a whole number from %d", key->name, value, is_count);
	if (is_count)
		p->r->count = n;
	else
		p->r->after = n;
	return 0;
}

/* By hand: strtod() follows the locale, takes "nan" and hexadecimal floats. */
static int set_prob(struct parse *p, const struct key *key, const char *value)
{
	double v = 0, unit = 1;
	const char *c = value;
	bool digits = false;

	for (; *c >= '0' && *c <= '9' && v < 10; c++, digits = true)
		v = v * 10 + (*c - '0');
	if (*c == '.') {
		for (c++; *c >= '0' && *c <= '9'; c++, digits = true) {
			unit /= 10;
			v += (*c - '0') * unit;
		}
	}
	if (!digits || *c || v <= 0 || v > 1)
		return error_set(p->err, -EINVAL, "prob=%.40s: must be above 0 and at most 1 (0.01)", value);
	p->r->prob = v;
	return 0;
}

static const struct key keys[] = {
	{ "on", set_on },	   { "qid", set_qid },	     { "opcode", set_opcode },	 { "nsid", set_nsid },
	{ "delay", set_duration }, { "status", set_status }, { "drop", set_flag, true }, { "ignore", set_flag, true },
	{ "after", set_number },   { "count", set_number },  { "prob", set_prob },	 { "every", set_duration },
	{ "for", set_duration },
};
enum { GIVEN_ON = 1 << 0, GIVEN_QID = 1 << 1, GIVEN_OPCODE = 1 << 2, GIVEN_NSID = 1 << 3 };

static int parse_one(struct parse *p, char *item)
{
	char *value = strchr(item, '=');
	size_t i;

	if (value)
		*value++ = '\0';
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		if (strcmp(item, keys[i].name))
			continue;
		if (p->given & 1u << i)
			return error_set(p->err, -EINVAL, "%s is given twice", item);
		p->given |= 1u << i;
		if (keys[i].flag && value)
			return error_set(p->err, -EINVAL, "%s takes no value", item);
		if (!keys[i].flag && (!value || !*value))
			return error_set(p->err, -EINVAL, "%s needs a value: %s=...", item, item);
		return keys[i].set(p, &keys[i], value);
	}
	return error_set(
		p->err, -EINVAL,
		"unknown key \"%.40s\"; there are on, qid, opcode, nsid, delay, status, drop, ignore, after, count, prob, every, for",
		item);
}

static int resolve_opcode(struct parse *p)
{
	struct fault_rule *r = p->r;
	uint64_t n;
	size_t i;

	if (!p->opcode)
		return 0;
	r->has_opcode = true;
	if (parse_number_str(p->opcode, 255, &n)) {
		r->opcode = (uint8_t)n;
		return 0;
	}
	for (i = 0; i < ARRAY_SIZE(opcode_names); i++) {
		if (strcmp(p->opcode, opcode_names[i].name) || opcode_names[i].point != r->point)
			continue;
		r->opcode = opcode_names[i].opcode;
		r->has_fctype = opcode_names[i].fctype >= 0;
		r->fctype = (uint8_t)opcode_names[i].fctype;
		return 0;
	}
	if (r->point == FAULT_IO)
		return error_set(p->err, -EINVAL,
				 "opcode=%.40s: with on=io must be 0..255, read, write, flush, compare, write-zeroes, write-uncor, dsm, "
				 "verify or disconnect",
				 p->opcode);
	return error_set(p->err, -EINVAL,
			 "opcode=%.40s: with on=admin must be 0..255, identify, get-log, get-features, set-features, abort, async-event, "
			 "keep-alive, "
			 "property-get or property-set",
			 p->opcode);
}

/* What no single key can know. */
static int check_selectors(struct parse *p)
{
	struct fault_rule *r = p->r;

	if (!(p->given & GIVEN_ON))
		return error_set(p->err, -EINVAL, "on= is missing: must be accept, icreq, connect, admin or io");
	if (r->point <= FAULT_ICREQ && r->qid_kind != FAULT_QID_ALL)
		return error_set(p->err, -EINVAL, "qid: a connection has no queue id yet at on=%s; only all fits", point_names[r->point]);
	if (r->point == FAULT_ADMIN && (r->qid_kind == FAULT_QID_IO || r->qid))
		return error_set(p->err, -EINVAL, "qid: on=admin is queue 0 alone; only 0, admin or all fit");
	if (r->point == FAULT_IO && r->qid_kind == FAULT_QID_ONE && !r->qid)
		return error_set(p->err, -EINVAL, "qid: on=io is the I/O queues; queue 0 is on=admin");
	if (r->point < FAULT_ADMIN && (p->given & (GIVEN_OPCODE | GIVEN_NSID)))
		return error_set(p->err, -EINVAL, "%s goes with on=admin and on=io only", p->given & GIVEN_OPCODE ? "opcode" : "nsid");
	return resolve_opcode(p);
}

static int check_action(struct parse *p)
{
	struct fault_rule *r = p->r;
	const struct fault_action *a = &r->action;
	int ends = a->drop + a->ignore + !!a->status;

	if (ends > 1)
		return error_set(p->err, -EINVAL, "status, drop and ignore exclude one another");
	if (a->status && r->point <= FAULT_ICREQ)
		return error_set(p->err, -EINVAL, "status: on=%s has no answer with a status; use drop, ignore or delay",
				 point_names[r->point]);
	if (!r->every_ns != !r->for_ns)
		return error_set(p->err, -EINVAL, "%s needs %s", r->every_ns ? "every" : "for", r->every_ns ? "for" : "every");
	if (r->for_ns > r->every_ns)
		return error_set(p->err, -EINVAL, "for: must not be longer than every");
	r->stall = r->every_ns && fault_action_none(a);
	if (!r->every_ns && fault_action_none(a))
		return error_set(p->err, -EINVAL, "nothing would happen: needs delay, status, drop, ignore or every with for");
	return 0;
}

static int parse_items(struct parse *p, char *items)
{
	char *item, *save = NULL;
	int ret = 0;

	for (item = strtok_r(items, ",", &save); item && !ret; item = strtok_r(NULL, ",", &save))
		ret = parse_one(p, item);
	if (!ret)
		ret = check_selectors(p);
	if (!ret)
		ret = check_action(p);
	return ret;
}

struct fault_rule *fault_rule_parse(const char *spec, struct error *err)
{
	size_t len = strlen(spec);
	struct fault_rule *r = calloc(1, sizeof(*r) + len + 1);
	char *items = strdup(spec);
	struct parse p = { .r = r, .err = err };

	if (!r || !items) {
		error_set(err, -ENOMEM, "fault \"%.200s\": out of memory", spec);
	} else {
		memcpy(r->spec, spec, len + 1);
		if (!parse_items(&p, items)) {
			free(items);
			return r;
		}
		error_prefix(err, "fault \"%.200s\"", spec);
	}
	free(items);
	free(r);
	return NULL;
}
