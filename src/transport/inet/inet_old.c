/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/inet/inet_old.h"

void inet_olds_init(struct inet_olds *all, const struct host_link_params *p, struct loop *loop)
{
	all->p = p;
	all->loop = loop;
	CDS_INIT_LIST_HEAD(&all->list);
}

static void old_end(struct inet_old *old, bool in_vain)
{
	cds_list_del(&old->link);
	timer_cancel(old->all->loop, &old->timeout);
	old->close(old, in_vain);
}

void inet_old_settled(struct inet_old *old)
{
	old_end(old, false);
}

static void old_timeout(struct timer *t)
{
	struct inet_old *old = container_of(t, struct inet_old, timeout);

	log_warn(old->all->p->log, "the ctrl did not close a connection that was given up within %u ms", old->all->p->settle_ms);
	old_end(old, true);
}

void inet_old_add(struct inet_olds *all, struct inet_old *old, void (*close)(struct inet_old *old, bool in_vain))
{
	old->all = all;
	old->close = close;
	cds_list_add_tail(&old->link, &all->list);
	timer_init(&old->timeout, old_timeout);
	timer_set(all->loop, &old->timeout, clock_ns() + all->p->settle_ms * NSEC_PER_MSEC);
}

void inet_olds_exit(struct inet_olds *all)
{
	while (!cds_list_empty(&all->list))
		old_end(cds_list_first_entry(&all->list, struct inet_old, link), false);
}
