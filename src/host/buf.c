/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that users promise to keep: what a transport does for it lasts from the first use to the end of the promise. */
#include "host/ctx.h"

int nvof_buf_register(struct nvof_ctx *ctx, void *addr, size_t len)
{
	return mem_regions_add(&ctx->regions, addr, len);
}

int nvof_buf_unregister(struct nvof_ctx *ctx, void *addr)
{
	return mem_regions_remove(&ctx->regions, addr);
}
