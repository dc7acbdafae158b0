/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/util.h"
#include "proto/tcp.h"

const char *nvme_tcp_type_name(uint8_t type)
{
	static const char *const names[] = {
		[NVME_TCP_ICREQ] = "ICReq",	    [NVME_TCP_ICRESP] = "ICResp",    [NVME_TCP_H2C_TERM] = "H2CTermReq",
		[NVME_TCP_C2H_TERM] = "C2HTermReq", [NVME_TCP_CMD] = "CapsuleCmd",   [NVME_TCP_RSP] = "CapsuleResp",
		[NVME_TCP_H2C_DATA] = "H2CData",    [NVME_TCP_C2H_DATA] = "C2HData", [NVME_TCP_R2T] = "R2T",
	};

	return type < ARRAY_SIZE(names) && names[type] ? names[type] : "unknown";
}

const char *nvme_tcp_fes_name(uint16_t fes)
{
	static const char *const names[] = {
		[NVME_TCP_FES_INVALID_HDR] = "Invalid PDU Header Field",
		[NVME_TCP_FES_SEQUENCE] = "PDU Sequence Error",
		[NVME_TCP_FES_HDGST] = "Header Digest Error",
		[NVME_TCP_FES_RANGE] = "Data Transfer Out of Range",
		[NVME_TCP_FES_LIMIT] = "Data Transfer Limit Exceeded",
		[NVME_TCP_FES_UNSUPPORTED] = "Unsupported Parameter",
	};

	return fes < ARRAY_SIZE(names) && names[fes] ? names[fes] : "unknown";
}
