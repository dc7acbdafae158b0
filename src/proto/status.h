/* SPDX-License-Identifier: BSD-3-Clause */
/* NVMe status in words.  status: SCT/SC with DNR/More as in proto/cmd.h; the type and code names are libnvme's where it has them. */
#ifndef NVOF_PROTO_STATUS_H
#define NVOF_PROTO_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fabrics-specific codes (SCT 1, 80h..) need the command: is_fabrics says a Fabrics command got it.  Never NULL; "unknown status".
 * libnvme's texts go on with ": " and an explanation, which nvme_status_describe() leaves out. */
const char *nvme_status_name(uint16_t status, bool is_fabrics);
/* "Connect Invalid Host (sct 1 sc 84h, DNR)" into buf; returns buf.  150 bytes are always enough. */
const char *nvme_status_describe(uint16_t status, bool is_fabrics, char *buf, size_t len);
/* What Connect's IPO/IATTR point at: "hostnqn", "subsysnqn", "hostid", "cntlid", "qid", "sqsize", "recfmt", "kato" ..., or "byte N of the
 * data". */
const char *nvmf_connect_field(uint32_t dw0, char *buf, size_t len);

#endif
