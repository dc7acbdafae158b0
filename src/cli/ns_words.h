/* SPDX-License-Identifier: BSD-3-Clause */
/* What is told about a namespace: its size and the best identifier it has. */
#ifndef NVOF_CLI_NS_WORDS_H
#define NVOF_CLI_NS_WORDS_H

#include <json-c/json.h>

#include <nvof/nvof.h>

#define NS_WORDS_LEN 120

/* "256 blocks of 4096 bytes, uuid ..."; returns buf */
const char *ns_words(const struct nvof_ns *ns, char buf[NS_WORDS_LEN]);
/* nr_blocks, block_size, and uuid, nguid or eui64 */
void ns_add_json(json_object *to, const struct nvof_ns *ns);

#endif
