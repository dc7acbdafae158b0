/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/discovery.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include <nvme/fabrics.h>

#include "base/util.h"
#include "proto/nqn.h"
#include "proto/uri.h"

static bool is_printable_ascii(const char *text)
{
	for (; *text; text++)
		if (*text < 0x20 || *text > 0x7e)
			return false;
	return true;
}

/* Full without a NUL or padding: the text may have been longer. */
static bool is_overlong(const char *text, size_t field_len)
{
	return strlen(text) == field_len;
}

static bool is_ip(const struct disc_entry *e)
{
	return (e->trtype == NVMF_TRTYPE_TCP || e->trtype == NVMF_TRTYPE_RDMA) &&
	       (e->adrfam == NVMF_ADDR_FAMILY_IP4 || e->adrfam == NVMF_ADDR_FAMILY_IP6);
}

static const char *check_address(const struct disc_entry *e)
{
	uint16_t port;

	if (is_overlong(e->traddr, NVMF_TRADDR_SIZE))
		return "TRADDR fills its field without an end";
	if (is_overlong(e->trsvcid, NVMF_TRSVCID_SIZE))
		return "TRSVCID fills its field without an end";
	if (!is_printable_ascii(e->traddr))
		return "TRADDR is not ASCII text";
	if (!is_printable_ascii(e->trsvcid))
		return "TRSVCID is not ASCII text";
	if (!is_ip(e))
		return NULL;
	if (!e->traddr[0])
		return "TRADDR is empty";
	if (e->trsvcid[0] && trsvcid_parse(e->trsvcid, &port))
		return "TRSVCID is not a port (1 to 65535)";
	return NULL;
}

const char *disc_entry_parse(const struct nvmf_disc_log_entry *wire, struct disc_entry *e)
{
	const char *why;

	*e = (struct disc_entry){
		.trtype = wire->trtype,
		.adrfam = wire->adrfam,
		.subtype = wire->subtype,
		.treq = wire->treq,
		.portid = le16toh(wire->portid),
		.cntlid = le16toh(wire->cntlid),
		.asqsz = le16toh(wire->asqsz),
		.eflags = le16toh(wire->eflags),
	};
	memcpy(e->tsas, &wire->tsas, sizeof(e->tsas));
	wire_text(e->trsvcid, wire->trsvcid, sizeof(wire->trsvcid));
	wire_text(e->subnqn, wire->subnqn, sizeof(wire->subnqn));
	wire_text(e->traddr, wire->traddr, sizeof(wire->traddr));
	why = nqn_check_text(e->subnqn);
	return why ? why : check_address(e);
}

static void put_text(char *field, size_t field_len, const char *text)
{
	memcpy(field, text, strnlen(text, field_len));
}

void disc_entry_build(const struct disc_entry *e, struct nvmf_disc_log_entry *wire)
{
	memset(wire, 0, sizeof(*wire));
	wire->trtype = e->trtype;
	wire->adrfam = e->adrfam;
	wire->subtype = e->subtype;
	wire->treq = e->treq;
	wire->portid = htole16(e->portid);
	wire->cntlid = htole16(e->cntlid);
	wire->asqsz = htole16(e->asqsz);
	wire->eflags = htole16(e->eflags);
	put_text(wire->trsvcid, sizeof(wire->trsvcid), e->trsvcid);
	put_text(wire->subnqn, sizeof(wire->subnqn), e->subnqn);
	put_text(wire->traddr, sizeof(wire->traddr), e->traddr);
	memcpy(&wire->tsas, e->tsas, sizeof(wire->tsas));
}

const char *trtype_name(uint8_t trtype)
{
	return nvmf_trtype_str(trtype);
}

const char *adrfam_name(uint8_t adrfam)
{
	return nvmf_adrfam_str(adrfam);
}

const char *subtype_name(uint8_t subtype)
{
	return nvmf_subtype_str(subtype);
}

const char *treq_name(uint8_t treq)
{
	return nvmf_treq_str(treq);
}

int trtype_parse(const char *name, uint8_t *trtype)
{
	static const uint8_t types[] = { NVMF_TRTYPE_TCP, NVMF_TRTYPE_RDMA, NVMF_TRTYPE_FC, NVMF_TRTYPE_LOOP };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		if (!strcasecmp(name, trtype_name(types[i]))) {
			*trtype = types[i];
			return 0;
		}
	}
	return -EINVAL;
}
