// SPDX-License-Identifier: BSD-3-Clause
/* The life of a target, and the way into and out of its public calls. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd_table.h"
#include "target/target.h"

#define FEW_CONNECTIONS 1024 /* cost 8 KiB; for more of them the table grows as it must */

static unsigned int usable_cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned int)CPU_COUNT(&set);
}

void nvof_target_opts_init(struct nvof_target_opts *opts)
{
	*opts = (struct nvof_target_opts){
		.size = sizeof(*opts),
		.log_level = NVOF_LOG_WARN,
		.io_threads = 1,
		.max_io_queues = 128,
		.max_queue_size = 1024,
		.mdts_len = 1 << 20,
		.inline_len = 16384,
		.spin_us = usable_cpus() > 1 ? 50 : 0,
		.handshake_tmo_ms = 10000,
	};
}

static bool opts_fine(const struct nvof_target_opts *o)
{
	/* 4096 would be MDTS 0, which says that there is no limit. */
	bool mdts_ok = o->mdts_len >= 8192 && o->mdts_len <= 64u << 20 && !(o->mdts_len & (o->mdts_len - 1));

	return mdts_ok && o->io_threads >= 1 && o->io_threads <= 1024 && o->max_io_queues >= 1 && o->max_io_queues <= 65534 &&
	       o->max_queue_size >= 2 && o->max_queue_size <= 32768 && o->inline_len <= 1 << 20 && o->inline_len % 16 == 0 &&
	       o->handshake_tmo_ms >= 1;
}

static void log_to_user(void *arg, int level, const char *msg)
{
	struct nvof_target *t = arg;

	t->opts.log(t->opts.log_arg, (enum nvof_log_level)level, msg);
}

static int target_init(struct nvof_target *t)
{
	struct nvof_subsys_opts so;
	pthread_condattr_t attr;

	CDS_INIT_LIST_HEAD(&t->ports);
	CDS_INIT_LIST_HEAD(&t->dead_ports);
	CDS_INIT_LIST_HEAD(&t->subsyss);
	CDS_INIT_LIST_HEAD(&t->referrals);
	CDS_INIT_LIST_HEAD(&t->zombies);
	pthread_mutex_init(&t->api_lock, NULL);
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->changed, &attr);
	pthread_condattr_destroy(&attr);
	fault_set_init(&t->faults);
	t->genctr = 1;
	t->log.level = (int)t->opts.log_level;
	if (t->opts.log) {
		t->log.fn = log_to_user;
		t->log.arg = t;
	}
	nvof_subsys_opts_init(&so);
	t->disc = target_subsys_new(t, NVMF_DISC_NQN, &so);
	return t->disc ? 0 : -ENOMEM;
}

int nvof_target_new(const struct nvof_target_opts *opts, struct nvof_target **tp)
{
	struct error err = { 0 };
	struct nvof_target *t;
	int ret;

	*tp = NULL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	nvof_target_opts_init(&t->opts);
	if (opts) {
		if (opts->size < sizeof(opts->size)) {
			free(t);
			return -EINVAL;
		}
		memcpy(&t->opts, opts, min_size(opts->size, sizeof(*opts)));
	}
	if (!opts_fine(&t->opts)) {
		free(t);
		return -EINVAL;
	}
	ret = target_init(t);
	fd_table_reserve(FEW_CONNECTIONS);
	if (!ret)
		ret = target_threads_start(t, &err);
	if (ret) {
		log_error(&t->log, "%s", error_msg(&err));
		error_clear(&err);
		nvof_target_free(t);
		return ret;
	}
	*tp = t;
	return 0;
}

void nvof_target_free(struct nvof_target *t)
{
	struct target_port *port, *next;

	if (!t)
		return;
	pthread_mutex_lock(&t->api_lock);
	target_shut(t, 0);
	pthread_mutex_unlock(&t->api_lock);
	target_subsyss_free(t);
	target_threads_stop(t);
	cds_list_for_each_entry_safe (port, next, &t->dead_ports, link)
		target_port_free(port);
	target_referrals_free(t);
	fault_set_clear(&t->faults);
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	pthread_mutex_destroy(&t->api_lock);
	free(t->errmsg);
	free(t);
}

void target_api_enter(struct nvof_target *t)
{
	pthread_mutex_lock(&t->api_lock);
	target_reap_zombies(t, false);
}

int target_api_leave(struct nvof_target *t, int ret, struct error *err)
{
	if (ret < 0) {
		free(t->errmsg);
		t->errmsg = err->code ? strdup(error_msg(err)) : NULL;
		if (!t->errmsg)
			t->errmsg = strdup(strerror(-ret));
	}
	error_clear(err);
	pthread_mutex_unlock(&t->api_lock);
	return ret;
}

int target_api_need(const char *what, const void *p, struct error *err)
{
	return p ? 0 : error_set(err, -EINVAL, "%s is NULL", what);
}

const char *nvof_target_errmsg(struct nvof_target *t, char *buf, size_t len)
{
	pthread_mutex_lock(&t->api_lock);
	if (len)
		snprintf(buf, len, "%s", t->errmsg ? t->errmsg : "");
	pthread_mutex_unlock(&t->api_lock);
	return buf;
}
