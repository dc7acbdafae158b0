/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/conn.h"

static bool is_loop(const struct conn_args *args)
{
	return !strcasecmp(args->transport, "loop");
}

static const char *subsysnqn_of(const struct conn_args *args)
{
	if (args->subsysnqn || !is_loop(args) || !args->embed.nr_subsys)
		return args->subsysnqn;
	return args->embed.subsys[0].nqn;
}

/* What says how something is done that is not done at all. */
static int check_needs(const struct conn_args *args)
{
	if (args->io_cpus && !args->io_threads)
		return cli_usage_error(args->cli, "--io-cpus", "--io-cpus: only with --io-threads");
	if (args->has_policy && args->queues_per_hctx <= 1)
		return cli_usage_error(args->cli, "--policy", "--policy: only with several queues for each hctx: --queues-per-hctx");
	if (args->reconnect_delay_ms && !args->ctrl_loss_tmo_s && !args->reconnects)
		return cli_usage_error(args->cli, "--reconnect-delay", "--reconnect-delay: only with --ctrl-loss-tmo");
	if (args->fast_io_fail_tmo_s != CONN_NOT_GIVEN && !args->ctrl_loss_tmo_s && !args->reconnects)
		return cli_usage_error(args->cli, "--fast-io-fail-tmo", "--fast-io-fail-tmo: only with --ctrl-loss-tmo");
	if (args->has_iopolicy && !conn_has_paths(args))
		return cli_usage_error(args->cli, "--iopolicy", "--iopolicy: only with several paths: --path or --duplicate-connect");
	return EXIT_OK;
}

static int check_args(const struct conn_args *args, enum conn_kind kind)
{
	struct cli *cli = args->cli;
	int ret = check_needs(args);

	if (ret)
		return ret;
	if (is_loop(args)) {
		if (!args->embed.nr_subsys)
			return cli_usage_error(cli, "--ns", "-t loop needs a target to connect to: give --ns, such as --ns mem:64M");
		if (args->traddr || args->trsvcid)
			return cli_usage_error(cli, "--traddr", "--traddr, --trsvcid: -t loop has no address");
		return EXIT_OK;
	}
	if (args->embed.nr_subsys || args->embed.nr_faults)
		return cli_usage_error(cli, args->embed.nr_subsys ? "--ns" : "--fault",
				       "--subsys, --ns, --fault make a target inside this process: only with -t loop");
	if (!args->traddr)
		return cli_usage_error(cli, "--traddr", "--traddr is missing: the address of the target");
	if (kind != CONN_DISCOVERY && !args->subsysnqn)
		return cli_usage_error(cli, "--nqn", "--nqn is missing: the subsystem; \"nvof discover\" lists them");
	return EXIT_OK;
}

static int embed_target(struct conn *c, const struct conn_args *args)
{
	struct nvof_target_opts opts;
	char msg[512];
	int ret;

	nvof_target_opts_init(&opts);
	opts.log = cli_log;
	opts.log_arg = c->cli;
	opts.log_level = cli_log_level(c->cli);
	ret = nvof_target_new(&opts, &c->target);
	if (ret)
		return cli_error(c->cli, ret, "starting the target inside this process: %s", strerror(-ret));
	ret = spec_apply(c->cli, &args->embed, c->target);
	if (ret)
		return ret;
	ret = nvof_target_listen(c->target, "loop", NULL, 0);
	if (ret)
		return cli_error(c->cli, ret, "loop: %s", nvof_target_errmsg(c->target, msg, sizeof(msg)));
	return EXIT_OK;
}

int conn_prepare(struct conn *c, const struct conn_args *args, enum conn_kind kind)
{
	struct nvof_ctx_opts opts;
	int ret;

	memset(c, 0, sizeof(*c));
	c->cli = args->cli;
	ret = check_args(args, kind);
	if (ret)
		return ret;
	nvof_ctx_opts_init(&opts);
	opts.log = cli_log;
	opts.log_arg = c->cli;
	opts.log_level = args->crowd && !c->cli->verbose ? NVOF_LOG_ERROR : cli_log_level(c->cli);
	ret = nvof_ctx_new(&opts, &c->ctx);
	if (ret)
		return cli_error(c->cli, ret, "making a ctx: %s", strerror(-ret));
	return is_loop(args) ? embed_target(c, args) : EXIT_OK;
}

void conn_fill_opts(struct nvof_connect_opts *opts, const struct conn *c, const struct conn_args *args, enum conn_kind kind)
{
	nvof_connect_opts_init(opts);
	opts->transport = args->transport;
	opts->traddr = args->traddr;
	opts->trsvcid = args->trsvcid;
	opts->host_traddr = args->host_traddr;
	opts->host_iface = args->host_iface;
	opts->subsysnqn = kind == CONN_DISCOVERY ? args->subsysnqn : subsysnqn_of(args);
	opts->hostnqn = args->hostnqn;
	opts->hostid = args->hostid;
	opts->nr_io_queues = args->nr_io_queues ? args->nr_io_queues : kind == CONN_ADMIN || kind == CONN_IO_ONE;
	if (args->queue_size)
		opts->queue_size = args->queue_size;
	if (args->keep_alive_tmo_s >= 0)
		opts->keep_alive_tmo_ms = args->keep_alive_tmo_s * 1000;
	opts->connect_tmo_ms = (unsigned int)args->connect_tmo_ms;
	opts->io_tmo_ms = (unsigned int)args->io_tmo_ms;
	opts->setup_concurrency = args->setup_concurrency;
	opts->remove_timeout_ms = (unsigned int)args->remove_timeout_ms;
	opts->removal_concurrency = args->removal_concurrency;
	opts->no_early_links = args->no_early_links;
	if (args->queues_per_hctx)
		opts->queues_per_hctx = args->queues_per_hctx;
	opts->policy = args->policy;
	opts->io_threads = args->io_threads;
	opts->io_cpus = args->io_cpus;
	opts->ctrl_loss_tmo_ms = args->ctrl_loss_tmo_s > 0 ? args->ctrl_loss_tmo_s * 1000 : args->ctrl_loss_tmo_s;
	if (args->reconnect_delay_ms)
		opts->reconnect_delay_ms = (unsigned int)args->reconnect_delay_ms;
	if (args->fast_io_fail_tmo_s != CONN_NOT_GIVEN)
		opts->fast_io_fail_tmo_ms = args->fast_io_fail_tmo_s > 0 ? args->fast_io_fail_tmo_s * 1000 : args->fast_io_fail_tmo_s;
	opts->hdr_digest = args->hdr_digest;
	opts->data_digest = args->data_digest;
	opts->disable_sqflow = !args->sqflow;
	opts->tos = args->tos;
	opts->loop_target = c->target;
	opts->event = c->event;
	opts->event_arg = c->event_arg;
}

struct connect_wait {
	bool done;
	int status;
};

static void connect_done(void *arg, struct nvof_ctrl *ctrl, int status)
{
	struct connect_wait *w = arg;

	w->done = true;
	w->status = status;
}

/* Fewer queues are normal, and less than what was asked for. */
static void tell_queues(struct conn *c, const struct conn_args *args, enum conn_kind kind)
{
	size_t granted = conn_nr_io_queues(c), asked = args->nr_io_queues * (c->nr_ctrls ? c->nr_ctrls : 1);

	/* One that was lost at once has none, however many it was granted. */
	if (kind == CONN_DISCOVERY || granted >= asked || c->told_queues || (!c->nr_ctrls && nvof_ctrl_state(c->ctrl) != NVOF_CTRL_LIVE))
		return;
	c->told_queues = true;
	cli_warn(c->cli, "%zu I/O queues were asked for, the target granted %zu", asked, granted);
}

int conn_connect_until(struct conn *c, const struct conn_args *args, enum conn_kind kind, struct stop *stop)
{
	struct connect_wait w = { 0 };
	struct nvof_connect_opts opts;
	int ret = conn_only_one(args);

	if (ret)
		return ret;
	conn_fill_opts(&opts, c, args, kind);
	ret = nvof_ctrl_connect(c->ctx, &opts, connect_done, &w, &c->ctrl);
	if (ret) {
		cli_error(c->cli, ret, "%s", nvof_ctx_errmsg(c->ctx));
		/* What the library refuses to try is a mistake in the arguments, too. */
		return ret == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	}
	while (!w.done) {
		nvof_ctx_poll(c->ctx, stop ? STOP_LOOK_US : -1);
		/* It ends with the next turn, and its timeline is there. */
		if (stop && stop_look(stop))
			nvof_ctrl_disconnect(c->ctrl, NULL, NULL);
	}
	if (!w.status)
		tell_queues(c, args, kind);
	if (!w.status || (stop && stop->sig))
		return w.status ? EXIT_FAILED : EXIT_OK;
	return cli_error(c->cli, w.status, "%s", nvof_ctrl_errmsg(c->ctrl));
}

int conn_connect(struct conn *c, const struct conn_args *args, enum conn_kind kind)
{
	return conn_connect_until(c, args, kind, NULL);
}

int conn_open(struct conn *c, const struct conn_args *args, enum conn_kind kind)
{
	int ret = conn_prepare(c, args, kind);

	if (ret || !conn_has_paths(args) || (kind != CONN_IO && kind != CONN_IO_ONE))
		return ret ? ret : conn_connect(c, args, kind);
	ret = conn_connect_paths(c, args, kind);
	if (!ret)
		tell_queues(c, args, kind);
	return ret;
}

void conn_disconnect_until(struct conn *c, struct stop *stop, struct nvof_disconnect_times *times)
{
	struct connect_wait w = { 0 };

	if (!c->ctrl)
		return;
	if (nvof_ctrl_state(c->ctrl) == NVOF_CTRL_LIVE && !nvof_ctrl_disconnect(c->ctrl, connect_done, &w))
		while (!w.done && !(stop && stop_look(stop)))
			nvof_ctx_poll(c->ctx, stop ? STOP_LOOK_US : -1);
	if (w.status == -ETIMEDOUT)
		cli_warn(c->cli, "the ctrl did not answer the shutdown; the connection was closed all the same");
	if (times)
		nvof_ctrl_disconnect_times(c->ctrl, times);
	nvof_ctrl_free(c->ctrl);
	c->ctrl = NULL;
}

void conn_disconnect(struct conn *c)
{
	if (c->ctrls)
		conn_disconnect_paths(c);
	else
		conn_disconnect_until(c, NULL, NULL);
}

void conn_close(struct conn *c)
{
	conn_disconnect(c);
	nvof_ctx_free(c->ctx);
	nvof_target_free(c->target);
	c->ctx = NULL;
	c->target = NULL;
}

const char *conn_status_words(const struct nvof_ctrl *ctrl, int status, char *buf, size_t len)
{
	char words[160];

	nvof_status_str(status, words, sizeof(words));
	if (ctrl && nvof_ctrl_state(ctrl) != NVOF_CTRL_LIVE && *nvof_ctrl_errmsg(ctrl))
		snprintf(buf, len, "%s: %s", words, nvof_ctrl_errmsg(ctrl));
	else if (ctrl && (status == -EPROTO || status == -EAGAIN) && *nvof_ctrl_errmsg(ctrl))
		snprintf(buf, len, "%s", nvof_ctrl_errmsg(ctrl)); /* found here, in what the ctrl said */
	else if (status == -ENODEV)
		snprintf(buf, len, "the namespace is gone (%s)", words);
	else if (status == -ESTALE)
		snprintf(buf, len, "the namespace is gone, and another one has its id now (%s)", words);
	else if (status == -ERANGE)
		snprintf(buf, len, "beyond the end of the namespace, which is smaller now (%s)", words);
	else
		snprintf(buf, len, "%s", words);
	return buf;
}

int conn_status(struct conn *c, int status, const char *what)
{
	char words[1024];

	if (!status)
		return EXIT_OK;
	/* Why no path was left. */
	if (c->subsys && status != -ENODEV && *nvof_subsystem_errmsg(c->subsys))
		return cli_error(c->cli, status, "%s: %s: %s", what, nvof_status_str(status, words, sizeof(words)),
				 nvof_subsystem_errmsg(c->subsys));
	return cli_error(c->cli, status, "%s: %s", what, conn_status_words(c->subsys ? NULL : c->ctrl, status, words, sizeof(words)));
}

void conn_queues_json(uint64_t asked, unsigned int granted, json_object *doc)
{
	json_object_object_add(doc, "nr_io_queues", json_object_new_int64(granted));
	if (asked)
		json_object_object_add(doc, "nr_io_queues_asked", json_object_new_uint64(asked));
}

int conn_only_nsid(struct conn *c, uint32_t *nsid)
{
	uint32_t *nsids;
	size_t nr;
	int ret = nvof_ns_list_sync(c->ctrl, &nsids, &nr);

	if (ret)
		return conn_status(c, ret, "reading the list of namespaces");
	if (nr == 1)
		*nsid = nsids[0];
	free(nsids);
	if (!nr)
		return cli_error(c->cli, 0, "the subsystem has no namespaces");
	if (nr > 1)
		return cli_usage_error(c->cli, "--namespace-id", "--namespace-id is missing: the subsystem has %zu namespaces", nr);
	return EXIT_OK;
}

int conn_open_ns(struct conn *c, const struct conn_args *args, struct nvof_ns **nsp)
{
	uint32_t nsid = args->nsid;
	char what[64];
	int ret;

	if (c->subsys)
		return conn_open_shared_ns(c, nsid, nsp);
	if (!nsid) {
		ret = conn_only_nsid(c, &nsid);
		if (ret)
			return ret;
	}
	ret = nvof_ns_open_sync(c->ctrl, nsid, nsp);
	if (ret == -ENODEV)
		return cli_argument_error(c->cli, "--namespace-id", ret, "--namespace-id: there is no active namespace %" PRIu32, nsid);
	if (ret == -ENOTSUP && *nvof_ctrl_errmsg(c->ctrl))
		return cli_error(c->cli, ret, "%s", nvof_ctrl_errmsg(c->ctrl)); /* which namespace is in it */
	snprintf(what, sizeof(what), "opening namespace %" PRIu32, nsid);
	return conn_status(c, ret, what);
}

void conn_wait_cb(void *arg, const struct nvof_cpl *cpl)
{
	struct conn_wait *w = arg;

	w->cpl = *cpl;
	w->done = true;
}

int conn_wait(struct conn *c, struct conn_wait *w, int ret)
{
	if (ret) {
		w->cpl = (struct nvof_cpl){ .status = ret };
		return ret;
	}
	while (!w->done)
		nvof_ctx_poll(c->ctx, -1);
	return w->cpl.status;
}
