/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * N asynchronous operations, at most `concurrency` under way at once, waited for together.
 *
 * Keeps every operation's error and which was first; can cancel the rest; ends exactly once.  One thread (that of the loop the operations
 * run on).  It starts operations from its own pump, never recursively, so an operation may end inside its own start().
 *
 * Several domains may share a limit as well: each has its own end and errors, and together they have no more under way than that.
 */
#ifndef NVOF_BASE_ASYNC_DOMAIN_H
#define NVOF_BASE_ASYNC_DOMAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <urcu/list.h>

#include "base/error.h"

enum async_state { ASYNC_IDLE, ASYNC_WAITING, ASYNC_RUNNING, ASYNC_ENDED };

struct async_domain;

struct async_op {
	/* The user's: start begins the work, and exactly one async_op_end() follows, from inside start or later. */
	void (*start)(struct async_op *op);
	/* The domain was cancelled while the op ran: hurry to async_op_end().  NULL: the op is left to end by itself. */
	void (*cancel)(struct async_op *op);
	/* private, but readable once ended */
	struct async_domain *domain;
	struct cds_list_head link;
	enum async_state state;
	struct error err; /* owned; cleared by async_op_reset() */
};

struct async_limit {
	/* private; use the functions */
	uint32_t max, nr_running;
	struct cds_list_head line;   /* of async_domain.limit_link: those that have operations to start and no room, the oldest first */
	struct async_domain *served; /* the one whose turn it is */
};

struct async_domain {
	/* private; use the functions */
	uint32_t concurrency;
	uint32_t nr_ops, nr_running, nr_ended, nr_failed;
	struct cds_list_head waiting, running, ended; /* of async_op; ended keeps the order of ending */
	struct async_op *first_failed, *starting;
	bool closed, cancelled, pumping, done_called;
	int cancel_code;
	void (*done)(struct async_domain *d);
	struct async_limit *limit; /* shared with other domains; NULL: none */
	struct cds_list_head limit_link;
	bool in_line;
};

/* concurrency 0: no limit.  done runs once, when the domain is closed and its last operation has ended; it may free the domain. */
void async_domain_init(struct async_domain *d, uint32_t concurrency, void (*done)(struct async_domain *d));
/* max 0: no limit. */
void async_limit_init(struct async_limit *limit, uint32_t max);
/* Before the first operation; limit outlives the domain's operations. */
void async_domain_share(struct async_domain *d, struct async_limit *limit);
/* Hands op over until done ran.  Starts it at once when there is room.  After a cancel it ends at once with the cancel's code. */
void async_domain_add(struct async_domain *d, struct async_op *op);
/* No more operations.  With none under way done runs from inside this call. */
void async_domain_close(struct async_domain *d);
/* Operations that wait end with code (a negative errno, usually -ECANCELED); those that run are asked to.  Idempotent. */
void async_domain_cancel(struct async_domain *d, int code);
/* Takes err's contents (err may be NULL: success).  The op may be freed by done, not before. */
void async_op_end(struct async_op *op, struct error *err);

static inline bool async_domain_cancelled(const struct async_domain *d)
{
	return d->cancelled;
}
/* The first error that was not a consequence of a cancel; when there was none but that, the first of those; NULL when all succeeded. */
const struct error *async_domain_first_error(const struct async_domain *d);
void async_op_reset(struct async_op *op);
/* An operation that has ended leaves its domain, with its error: a domain that stays open does not gather all it ever did. */
void async_domain_forget(struct async_op *op);

#endif
