/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/status.h"

#include <stdio.h>
#include <string.h>

#include <nvme/util.h>

#include "base/util.h"
#include "proto/cmd.h"

struct field {
	uint16_t start, len;
	const char *name;
};

/* libnvme shortens these names; they are what people search for when a target refuses them. */
static const char *fabrics_name(uint8_t sc)
{
	switch (sc) {
	case NVME_SC_CONNECT_FORMAT:
		return "Connect Incompatible Format";
	case NVME_SC_CONNECT_CTRL_BUSY:
		return "Connect Controller Busy";
	case NVME_SC_CONNECT_INVALID_PARAM:
		return "Connect Invalid Parameters";
	case NVME_SC_CONNECT_RESTART_DISC:
		return "Connect Restart Discovery";
	case NVME_SC_CONNECT_INVALID_HOST:
		return "Connect Invalid Host";
	case NVME_SC_DISCONNECT_INVALID_QTYPE:
		return "Invalid Queue Type";
	case NVME_SC_DISCOVERY_RESTART:
		return "Discover Restart";
	case NVME_SC_AUTH_REQUIRED:
		return "Authentication Required";
	default:
		return NULL;
	}
}

const char *nvme_status_name(uint16_t status, bool is_fabrics)
{
	const char *name = NULL;

	if (is_fabrics && (NVME_STATUS_CODE(status) >> 8) == NVME_SCT_CMD_SPECIFIC)
		name = fabrics_name(status & 0xff);
	if (!name)
		name = nvme_status_to_string(NVME_STATUS_CODE(status), is_fabrics);
	if (!name || !strcasecmp(name, "unknown status") || !strcasecmp(name, "unrecognized"))
		return "unknown status";
	return name;
}

const char *nvme_status_describe(uint16_t status, bool is_fabrics, char *buf, size_t len)
{
	const char *name = nvme_status_name(status, is_fabrics);
	int name_len = (int)strcspn(name, ":");

	snprintf(buf, len, "%.*s (sct %u sc %02xh%s%s)", name_len, name, NVME_STATUS_CODE(status) >> 8, status & 0xff,
		 status & NVME_STATUS_DNR ? ", DNR" : "", status & NVME_STATUS_MORE ? ", More" : "");
	return buf;
}

static const char *field_at(const struct field *fields, size_t nr, uint32_t pos)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (pos >= fields[i].start && pos - fields[i].start < fields[i].len)
			return fields[i].name;
	return NULL;
}

const char *nvmf_connect_field(uint32_t dw0, char *buf, size_t len)
{
	static const struct field in_cmd[] = {
		{ 0, 1, "opcode" }, { 2, 2, "cid" },	 { 4, 1, "fctype" }, { 24, 16, "sgl" }, { 40, 2, "recfmt" },
		{ 42, 2, "qid" },   { 44, 2, "sqsize" }, { 46, 1, "cattr" }, { 48, 4, "kato" },
	};
	static const struct field in_data[] = {
		{ 0, 16, "hostid" },
		{ 16, 2, "cntlid" },
		{ 256, 256, "subsysnqn" },
		{ 512, 256, "hostnqn" },
	};
	uint32_t pos = NVMF_CONNECT_IPO(dw0);
	bool data = NVMF_CONNECT_IATTR(dw0);
	const char *name = data ? field_at(in_data, ARRAY_SIZE(in_data), pos) : field_at(in_cmd, ARRAY_SIZE(in_cmd), pos);

	if (name)
		snprintf(buf, len, "%s", name);
	else
		snprintf(buf, len, "byte %u of the %s", pos, data ? "data" : "command");
	return buf;
}
