/* SPDX-License-Identifier: BSD-3-Clause */
/* CRC32C as NVMe/TCP digests use it, by isa-l.  crc32c(0, ...) starts; the running value is the finished digest so far. */
#ifndef NVOF_PROTO_CRC32C_H
#define NVOF_PROTO_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(uint32_t crc, const void *data, size_t len);
/* memcpy and CRC in one pass over cache-sized chunks: nearly as fast as the copy alone. */
uint32_t crc32c_copy(uint32_t crc, void *restrict dst, const void *restrict src, size_t len);

#endif
