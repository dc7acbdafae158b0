/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses as text: nvme+tcp://HOST[:PORT]/SUBNQN[/NSID][?key=value&...], nvme+rdma://..., nvme+loop:///SUBNQN.
 * HOST: name, IPv4, [IPv6], [IPv6%25scope].  Keys are the long option names without "--" (hdr-digest, nr-io-queues=4, host-traddr=...).
 */
#ifndef NVOF_PROTO_URI_H
#define NVOF_PROTO_URI_H

#include <stdint.h>

struct nvof_uri {
	char transport[8];     /* "tcp", "rdma", "loop" */
	char *traddr;	       /* owned; without brackets, scope as %scope; NULL for loop */
	char *trsvcid;	       /* owned; NULL when not given */
	char *subsysnqn;       /* owned; percent-decoded; NULL when not given (discovery) */
	uint32_t nsid;	       /* 0 when not given */
	char **keys, **values; /* owned; nr_options of each; a key without '=' has value "" */
	uint32_t nr_options;
};

/* 0 and a filled *uri (nvof_uri_clear() it), or -EINVAL / -ENOMEM and *why a static sentence. */
int nvof_uri_parse(const char *text, struct nvof_uri *uri, const char **why);
void nvof_uri_clear(struct nvof_uri *uri);

/* TRSVCID of an IP transport: decimal 1..65535 without sign, leading zeros or anything after (C164).  0 or -EINVAL. */
int trsvcid_parse(const char *text, uint16_t *port);

#endif
