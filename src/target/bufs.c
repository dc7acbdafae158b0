// SPDX-License-Identifier: BSD-3-Clause
#include "target/bufs.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

#define BUFS_LOOK_NS NSEC_PER_SEC /* how often unneeded buffers are looked for */

static unsigned int class_of(size_t len)
{
	unsigned int c = 0;

	while (((size_t)1 << (BUFS_MIN_SHIFT + c)) < len)
		c++;
	return c;
}

static void class_trim(struct bufs *b, unsigned int c, uint32_t nr)
{
	struct buf_free *f;

	while (nr-- && (f = b->classes[c].head)) {
		b->classes[c].head = f->next;
		b->classes[c].nr--;
		b->kept -= (size_t)1 << (BUFS_MIN_SHIFT + c);
		free(f);
	}
}

/* What was never taken since the last look is surplus. */
static void bufs_look(struct timer *timer)
{
	struct bufs *b = container_of(timer, struct bufs, timer);

	for (unsigned int c = 0; c < BUFS_NR_CLASSES; c++) {
		class_trim(b, c, b->classes[c].low);
		b->classes[c].low = b->classes[c].nr;
	}
	if (b->kept)
		timer_set(b->loop, &b->timer, loop_now(b->loop) + BUFS_LOOK_NS);
}

void bufs_init(struct bufs *b, struct loop *loop, size_t keep_max, size_t use_max)
{
	memset(b, 0, sizeof(*b));
	b->loop = loop;
	b->keep_max = keep_max;
	b->use_max = use_max;
	timer_init(&b->timer, bufs_look);
}

void bufs_exit(struct bufs *b)
{
	if (!b->loop)
		return;
	timer_cancel(b->loop, &b->timer);
	for (unsigned int c = 0; c < BUFS_NR_CLASSES; c++)
		class_trim(b, c, b->classes[c].nr);
}

void *bufs_get(struct bufs *b, size_t len, size_t *room)
{
	unsigned int c = class_of(len);
	struct buf_free *f;
	void *buf;

	if (c >= BUFS_NR_CLASSES)
		return NULL;
	*room = (size_t)1 << (BUFS_MIN_SHIFT + c);
	f = b->classes[c].head;
	if (f) {
		b->classes[c].head = f->next;
		b->classes[c].nr--;
		b->kept -= *room;
		if (b->classes[c].low > b->classes[c].nr)
			b->classes[c].low = b->classes[c].nr;
		buf = f;
	} else if (posix_memalign(&buf, (size_t)1 << BUFS_MIN_SHIFT, *room)) {
		return NULL;
	}
	b->in_use += *room;
	return buf;
}

void bufs_put(struct bufs *b, void *buf, size_t room)
{
	unsigned int c = class_of(room);
	struct buf_free *f = buf;

	b->in_use -= room;
	if (b->kept + room > b->keep_max) {
		free(buf);
		return;
	}
	f->next = b->classes[c].head;
	b->classes[c].head = f;
	b->classes[c].nr++;
	b->kept += room;
	if (!timer_armed(&b->timer))
		timer_set(b->loop, &b->timer, loop_now(b->loop) + BUFS_LOOK_NS);
}
