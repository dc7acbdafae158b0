/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <nvof/nvof.h>
#include <stdio.h>
#include <string.h>

#include "proto/discovery.h"
#include "proto/status.h"

const char *nvof_status_str(int status, char *buf, size_t len)
{
	const char *text;

	if (status > 0) {
		/* The codes of Fabrics commands overlap with those of others only where libnvme has the others' names: ask for both. */
		bool is_fabrics = ((status >> 8) & 7) == NVME_SCT_CMD_SPECIFIC && (status & 0xff) >= 0x80;

		return nvme_status_describe((uint16_t)status, is_fabrics, buf, len);
	}
	/* What is looked for here is a name or an object, not a file. */
	text = status == -ENOENT ? "Not found" : status ? strerrordesc_np(-status) : "Success";
	snprintf(buf, len, "%s", text ? text : "Unknown error");
	return buf;
}

const char *nvof_version(void)
{
	return NVOF_VERSION;
}

const char *nvof_disc_trtype_name(uint8_t trtype)
{
	return trtype_name(trtype);
}

const char *nvof_disc_adrfam_name(uint8_t adrfam)
{
	return adrfam_name(adrfam);
}

const char *nvof_disc_subtype_name(uint8_t subtype)
{
	return subtype_name(subtype);
}

const char *nvof_disc_treq_name(uint8_t treq)
{
	return treq_name(treq);
}
