/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/inet/inet_peer.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "transport/inet/inet_addr.h"
#include "transport/inet/inet_resolve.h"

#define RESOLVE_PARTS 4 /* the share of connect_tmo, one in so many, of a resolver when there are addresses of before */

/* Fills what is numeric. */
static int addrs_parse(const struct host_link_params *p, const char *transport, struct sockaddr_storage *peer, socklen_t *peer_len,
		       struct sockaddr_storage *local, socklen_t *local_len, struct error *err)
{
	int ret;

	*peer_len = *local_len = 0;
	if (!p->traddr)
		return error_set(err, -EINVAL, "traddr is missing: the %s transport needs an address or a name", transport);
	ret = inet_addr_numeric("traddr", p->traddr, p->trsvcid, p->host_iface, peer, peer_len, err);
	if (ret && ret != -ENOENT)
		return ret;
	if (!p->host_traddr)
		return 0;
	ret = inet_addr_numeric("host-traddr", p->host_traddr, NULL, p->host_iface, local, local_len, err);
	if (ret == -ENOENT)
		return error_set(err, -EINVAL, "host-traddr '%s': not a numeric IPv4 or IPv6 address", p->host_traddr);
	if (!ret && *peer_len && peer->ss_family != local->ss_family)
		return error_set(err, -EINVAL, "host-traddr '%s' and traddr '%s' are of different address families", p->host_traddr,
				 p->traddr);
	return ret;
}

int inet_peer_check(const struct host_link_params *p, const char *transport, struct error *err)
{
	struct sockaddr_storage peer, local;
	socklen_t peer_len, local_len;

	return addrs_parse(p, transport, &peer, &peer_len, &local, &local_len, err);
}

/* addrs has room for it. */
static void addr_add(struct inet_peer *peer, const void *sa, socklen_t len)
{
	struct inet_peer_addr *a = &peer->addrs[peer->nr_addrs++];

	memcpy(&a->ss, sa, len);
	inet_addr_text(sa, len, a->text, sizeof(a->text));
}

int inet_peer_init(struct inet_peer *peer, const struct host_link_params *p, const char *transport, struct loop *loop, struct error *err)
{
	struct sockaddr_storage addr;
	socklen_t len;
	int ret;

	peer->p = p;
	peer->loop = loop;
	CDS_INIT_LIST_HEAD(&peer->waiting);
	ret = addrs_parse(p, transport, &addr, &len, &peer->local, &peer->local_len, err);
	peer->is_name = !len;
	if (ret || !len)
		return ret;
	peer->addrs = calloc(1, sizeof(*peer->addrs));
	if (!peer->addrs)
		return error_set(err, -ENOMEM, "no memory");
	addr_add(peer, &addr, len);
	return 0;
}

void inet_peer_exit(struct inet_peer *peer)
{
	inet_resolve_cancel(peer->resolve);
	free(peer->addrs);
}

/* ---- a queue's way ---- */

static uint32_t waiter_at(const struct inet_waiter *w)
{
	return (w->first + w->nr_tried) % w->peer->nr_addrs;
}

static void resolved(void *arg, int err, const char *why, struct addrinfo *list);

/* What was waited for: the resolver, with addresses of before at hand, or one of several addresses. */
static void share_is_over(struct timer *t)
{
	struct inet_waiter *w = container_of(t, struct inet_waiter, share);

	if (w->waiting)
		resolved(w->peer, -ETIMEDOUT, strerror(ETIMEDOUT), NULL);
	else
		w->late(w);
}

/* One part of so many. */
static void share_set(struct inet_waiter *w, uint32_t parts)
{
	timer_set(w->peer->loop, &w->share, clock_ns() + w->peer->p->connect_tmo_ms * NSEC_PER_MSEC / parts);
}

static void share_begin(struct inet_waiter *w)
{
	timer_cancel(w->peer->loop, &w->share);
	if (w->late && w->nr_tried + 1 < w->peer->nr_addrs)
		share_set(w, w->peer->nr_addrs);
}

static void waiter_begin(struct inet_waiter *w)
{
	w->first = w->peer->chosen;
	w->nr_tried = 0;
	w->trying = true;
	share_begin(w);
	w->known(w);
}

const struct inet_peer_addr *inet_waiter_addr(const struct inet_waiter *w)
{
	return &w->peer->addrs[waiter_at(w)];
}

bool inet_waiter_next(struct inet_waiter *w)
{
	if (w->nr_tried + 1 >= w->peer->nr_addrs)
		return false;
	w->nr_tried++;
	share_begin(w);
	return true;
}

void inet_waiter_linked(struct inet_waiter *w)
{
	w->peer->chosen = waiter_at(w);
	w->trying = false;
	timer_cancel(w->peer->loop, &w->share);
}

void inet_waiter_cancel(struct inet_waiter *w)
{
	if (!w->peer)
		return;
	if (w->waiting)
		cds_list_del(&w->link);
	if (w->trying && !w->q->qid)
		w->peer->chosen = (waiter_at(w) + 1) % w->peer->nr_addrs;
	w->waiting = w->trying = false;
	timer_cancel(w->peer->loop, &w->share);
}

/* ---- addresses ---- */

static int addrs_replace(struct inet_peer *peer, const struct addrinfo *list)
{
	struct inet_peer_addr *old = peer->addrs;
	uint32_t nr_old = peer->nr_addrs, chosen = peer->chosen, n = 0, i;
	const struct addrinfo *ai;

	for (ai = list; ai; ai = ai->ai_next)
		n++;
	peer->addrs = calloc(n, sizeof(*peer->addrs));
	if (!peer->addrs) {
		peer->addrs = old;
		return -ENOMEM;
	}
	peer->nr_addrs = peer->chosen = 0;
	for (ai = list; ai; ai = ai->ai_next)
		addr_add(peer, ai->ai_addr, ai->ai_addrlen);
	for (i = 0; nr_old && i < n; i++)
		if (!strcmp(peer->addrs[i].text, old[chosen].text))
			peer->chosen = i;
	free(old);
	return 0;
}

static void resolve_failed(struct inet_waiter *w, int err, const char *why)
{
	const struct host_link_params *p = w->peer->p;

	if (w->peer->local_len)
		host_queue_failed(w->q, err, "resolve '%s' to an IPv%c address, as host-traddr '%s' is one: %s", p->traddr,
				  w->peer->local.ss_family == AF_INET6 ? '6' : '4', p->host_traddr, why);
	else
		host_queue_failed(w->q, err, "resolve '%s': %s", p->traddr, why);
}

static void resolved(void *arg, int err, const char *why, struct addrinfo *list)
{
	struct inet_peer *peer = arg;

	inet_resolve_cancel(peer->resolve);
	peer->resolve = NULL;
	if (list) {
		err = addrs_replace(peer, list);
		why = err ? strerror(-err) : NULL;
		freeaddrinfo(list);
	}
	if (err && peer->nr_addrs)
		log_info(peer->p->log, "resolve '%s' again: %s; the addresses of before serve", peer->p->traddr, why);
	while (!cds_list_empty(&peer->waiting)) {
		struct inet_waiter *w = cds_list_first_entry(&peer->waiting, struct inet_waiter, link);

		cds_list_del(&w->link);
		w->waiting = false;
		if (peer->nr_addrs)
			waiter_begin(w);
		else
			resolve_failed(w, err, why);
	}
}

void inet_peer_want(struct inet_peer *peer, struct inet_waiter *w)
{
	int family = peer->local_len ? peer->local.ss_family : AF_UNSPEC, ret = 0;

	w->peer = peer;
	timer_init(&w->share, share_is_over);
	if (peer->nr_addrs && (w->q->qid || !peer->is_name)) {
		waiter_begin(w);
		return;
	}
	host_queue_enter(w->q, QUEUE_RESOLVE);
	if (!peer->resolve)
		ret = inet_resolve_start(peer->loop, peer->p->traddr, peer->p->trsvcid, family, resolved, peer, &peer->resolve);
	if (ret) {
		resolve_failed(w, ret, strerror(-ret));
		return;
	}
	cds_list_add_tail(&w->link, &peer->waiting);
	w->waiting = true;
	if (peer->nr_addrs)
		share_set(w, RESOLVE_PARTS);
}
