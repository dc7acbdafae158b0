/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the data of a command goes: a buffer, or the backend's own memory (req.in_place).
 *
 * In the backend's memory a block is the old one or the new one, never a part of each, whoever looks and whenever the connection ends.  So
 * what has come of a block waits in the request's buffer until the block is whole.
 */
#include <string.h>

#include "transport/tcp/tcp_target.h"

void slot_rx_begin(struct tt_slot *s)
{
	s->rx_done = s->r2t_end = 0;
	s->rx_iov = 0;
	s->rx_iov_off = 0;
}

/* Bytes that wait for the rest of their block. */
static uint32_t waiting(const struct tt_slot *s)
{
	return s->req.in_place ? s->rx_done & (s->req.in_place - 1) : 0;
}

static size_t whole_blocks(const struct tt_slot *s, size_t len)
{
	return s->req.in_place ? len & ~(size_t)(s->req.in_place - 1) : len;
}

/* The rest of the block that waits, or one that begins to. */
static size_t block_iov(const struct tt_slot *s, size_t len, struct iovec *iov)
{
	iov->iov_base = (char *)s->req.buf + waiting(s);
	iov->iov_len = min_size(s->req.in_place - waiting(s), len);
	return iov->iov_len;
}

size_t slot_rx_iov(const struct tt_slot *s, size_t len, struct iovec *iov, uint32_t room, uint32_t *used)
{
	size_t left = min_size(len, s->req.data_len - s->rx_done), covered = 0, off = s->rx_iov_off, whole;
	uint32_t i, n = 0;

	if (waiting(s)) {
		covered = block_iov(s, left, &iov[n++]);
		off += s->req.in_place; /* where it will go */
	}
	whole = whole_blocks(s, left - covered);
	for (i = s->rx_iov; whole && n < room && i < s->req.iovcnt; i++, off = 0) {
		size_t part = min_size(s->req.iov[i].iov_len - off, whole);

		if (!part)
			continue;
		iov[n].iov_base = (char *)s->req.iov[i].iov_base + off;
		iov[n++].iov_len = part;
		covered += part;
		whole -= part;
	}
	if (!n && left && s->req.in_place)
		covered = block_iov(s, left, &iov[n++]);
	*used = n;
	return covered;
}

size_t slot_rx_fit(const struct tt_slot *s, size_t arrived)
{
	size_t block = s->req.in_place - waiting(s);

	if (arrived >= block)
		return block + whole_blocks(s, arrived - block);
	return waiting(s) ? block : block - 1; /* to the buffer, both */
}

static void place_advance(struct tt_slot *s, size_t len)
{
	while (len && s->rx_iov < s->req.iovcnt) {
		size_t part = min_size(s->req.iov[s->rx_iov].iov_len - s->rx_iov_off, len);

		len -= part;
		s->rx_iov_off += part;
		if (s->rx_iov_off == s->req.iov[s->rx_iov].iov_len) {
			s->rx_iov++;
			s->rx_iov_off = 0;
		}
	}
}

/* A block that waited is whole: to its place, which is next. */
static void block_done(struct tt_slot *s)
{
	memcpy((char *)s->req.iov[s->rx_iov].iov_base + s->rx_iov_off, s->req.buf, s->req.in_place);
	place_advance(s, s->req.in_place);
}

void slot_rx_advance(struct tt_slot *s, const struct iovec *iov, size_t len)
{
	size_t whole = whole_blocks(s, len);
	bool in_block = s->req.in_place && iov->iov_base == (char *)s->req.buf + waiting(s);

	s->rx_done += (uint32_t)len;
	if (in_block) {
		if (!waiting(s))
			block_done(s);
		return;
	}
	place_advance(s, whole);
	if (len > whole) /* the socket gave less than it had */
		memcpy(s->req.buf, (char *)iov->iov_base + whole, len - whole);
}
