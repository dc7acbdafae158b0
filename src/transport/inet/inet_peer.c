/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/inet/inet_peer.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "transport/inet/inet_addr.h"
#include "transport/inet/inet_resolve.h"

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

static void resolved(void *arg, int err, const char *why, struct addrinfo *list)
{
	struct inet_peer *peer = arg;
	struct addrinfo *ai;
	uint32_t n = 0;

	inet_resolve_cancel(peer->resolve);
	peer->resolve = NULL;
	for (ai = list; ai; ai = ai->ai_next)
		n++;
	peer->addrs = n ? calloc(n, sizeof(*peer->addrs)) : NULL;
	for (ai = peer->addrs ? list : NULL; ai; ai = ai->ai_next)
		addr_add(peer, ai->ai_addr, ai->ai_addrlen);
	if (list)
		freeaddrinfo(list);

	while (!cds_list_empty(&peer->waiting)) {
		struct inet_waiter *w = cds_list_first_entry(&peer->waiting, struct inet_waiter, link);

		inet_waiter_cancel(w);
		if (peer->nr_addrs)
			w->known(w);
		else
			host_queue_failed(w->q, err ? err : -ENOMEM, "resolve '%s': %s", peer->p->traddr, err ? why : strerror(ENOMEM));
	}
}

void inet_peer_want(struct inet_peer *peer, struct inet_waiter *w)
{
	int family = peer->local_len ? peer->local.ss_family : AF_UNSPEC, ret = 0;

	if (peer->nr_addrs) {
		w->known(w);
		return;
	}
	if (!peer->resolve)
		ret = inet_resolve_start(peer->loop, peer->p->traddr, peer->p->trsvcid, family, resolved, peer, &peer->resolve);
	if (ret) {
		host_queue_failed(w->q, ret, "resolve '%s': %s", peer->p->traddr, strerror(-ret));
		return;
	}
	cds_list_add_tail(&w->link, &peer->waiting);
	w->waiting = true;
}

void inet_waiter_cancel(struct inet_waiter *w)
{
	if (w->waiting)
		cds_list_del(&w->link);
	w->waiting = false;
}
