/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any stream, for either side, with and without digests: fed whole and in pieces it gives the same events, payload and error.
 *
 * Byte 0: bit 0 the side, bit 1 header digests, bit 2 data digests, bit 3 the IC exchange is still to come, bits 7:4 the pieces' length.
 * Byte 1: bits 4:0 the alignment asked for; bit 5: repair the header digests, so that what lies behind them is reached.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "proto/crc32c.h"
#include "proto/tcp_rx.h"

#define MAX_DATA 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
	uint32_t nr_pdus, nr_ends, nr_bad_digests, payload_len, sum, fei;
	uint16_t fes;
	const char *what;
};

static void start(struct nvme_tcp_rx *rx, const uint8_t conf[2])
{
	nvme_tcp_rx_init(rx, conf[0] & 1 ? NVME_TCP_CTRL : NVME_TCP_HOST, conf[1] & 31, MAX_DATA);
	if (!(conf[0] & 8))
		nvme_tcp_rx_negotiated(rx, conf[0] & 2, conf[0] & 4);
}

static void on_pdu(struct nvme_tcp_rx *rx, const uint8_t conf[2], struct outcome *out)
{
	uint32_t limit = rx->pdu.hdr.type <= NVME_TCP_C2H_TERM ? 128 : MAX_DATA;

	if (rx->data_len > limit || rx->data_done)
		abort();
	out->nr_pdus++;
	out->sum = crc32c(out->sum, rx->pdu.raw, rx->pdu.hdr.hlen);
	if (rx->ic_only && rx->pdu.hdr.type <= NVME_TCP_ICRESP)
		nvme_tcp_rx_negotiated(rx, conf[0] & 2, conf[0] & 4);
}

static void on_data(struct nvme_tcp_rx *rx, const struct nvme_tcp_rx_event *ev, struct outcome *out)
{
	uint8_t copy[MAX_DATA];

	if (!ev->len || ev->len > nvme_tcp_rx_payload_left(rx))
		abort();
	if (out->payload_len & 1)
		nvme_tcp_rx_payload_copy(rx, copy, ev->data, ev->len);
	else
		nvme_tcp_rx_payload_inplace(rx, ev->data, ev->len);
	out->payload_len += (uint32_t)ev->len;
	out->sum = crc32c(out->sum, ev->data, ev->len);
}

/* Returns false after an error. */
static bool feed(struct nvme_tcp_rx *rx, const uint8_t conf[2], const uint8_t *p, size_t len, struct outcome *out)
{
	struct nvme_tcp_rx_event ev;
	size_t n;

	for (;;) {
		n = nvme_tcp_rx(rx, p, len, &ev);
		if (n > len)
			abort();
		p += n;
		len -= n;
		switch (ev.type) {
		case RX_NONE:
			if (len)
				abort();
			return true;
		case RX_PDU:
			on_pdu(rx, conf, out);
			break;
		case RX_DATA:
			on_data(rx, &ev, out);
			break;
		case RX_END:
			out->nr_ends++;
			out->nr_bad_digests += !ev.digest_ok;
			break;
		case RX_ERROR:
			out->fes = ev.fes;
			out->fei = ev.fei;
			out->what = ev.what;
			if (!ev.fes || !ev.what)
				abort();
			return false;
		}
	}
}

/* Walks over the PDUs as their own headers tell and puts right digests in. */
static void repair(uint8_t *p, size_t len)
{
	uint32_t plen, crc;

	while (len >= 28) {
		if (p[2] + 4u <= len) {
			crc = htole32(crc32c(0, p, p[2]));
			memcpy(p + p[2], &crc, sizeof(crc));
		}
		memcpy(&plen, p + 4, sizeof(plen));
		plen = le32toh(plen);
		if (plen < 8 || plen > len)
			return;
		p += plen;
		len -= plen;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole = { 0 }, pieces = { 0 };
	size_t piece, pos, len;
	struct nvme_tcp_rx rx;
	uint8_t *stream;

	if (size < 2)
		return 0;
	len = size - 2;
	piece = (size_t)(data[0] >> 4) + 1;
	stream = malloc(len ? len : 1);
	memcpy(stream, data + 2, len);
	if (data[1] & 32 && data[0] & 2)
		repair(stream, len);
	start(&rx, data);
	feed(&rx, data, stream, len, &whole);
	start(&rx, data);
	for (pos = 0; pos < len; pos += piece)
		if (!feed(&rx, data, stream + pos, min_size(piece, len - pos), &pieces))
			break;
	if (memcmp(&whole, &pieces, sizeof(whole)))
		abort();
	free(stream);
	return 0;
}
