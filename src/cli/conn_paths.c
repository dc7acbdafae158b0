/* SPDX-License-Identifier: BSD-3-Clause */
/* Several ctrls of one subsystem: further addresses (--path), and several ctrls at each (--duplicate-connect). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/util.h"
#include "cli/conn.h"
#include "cli/ns_words.h"
#include "cli/text.h"
#include "proto/traddr.h"
#include "proto/uri.h"

/* An address taken apart. */
struct place {
	char transport[8], traddr[256], trsvcid[8]; /* trsvcid empty: the default */
};

static bool copy_piece(char *to, size_t size, const char *from, size_t len)
{
	if (!len || len >= size)
		return false;
	memcpy(to, from, len);
	to[len] = '\0';
	return true;
}

/* "ADDR", "ADDR:PORT", "[IPV6]:PORT" */
static bool take_address(const char *text, struct place *p)
{
	const char *end = text[0] == '[' ? strchr(text, ']') : strchr(text, ':');
	uint16_t port;

	if (text[0] == '[') {
		if (!end || !copy_piece(p->traddr, sizeof(p->traddr), text + 1, (size_t)(end - text) - 1) || !traddr_is_ip6(p->traddr))
			return false;
		end++;
		if (!*end)
			return true;
	} else if (!end) {
		return copy_piece(p->traddr, sizeof(p->traddr), text, strlen(text));
	} else if (!copy_piece(p->traddr, sizeof(p->traddr), text, (size_t)(end - text))) {
		return false;
	}
	return *end == ':' && !trsvcid_parse(end + 1, &port) && copy_piece(p->trsvcid, sizeof(p->trsvcid), end + 1, strlen(end + 1));
}

static bool place_parse(const char *text, struct place *p)
{
	const char *colon = strchr(text, ':');

	*p = (struct place){ 0 };
	return colon && copy_piece(p->transport, sizeof(p->transport), text, (size_t)(colon - text)) &&
	       (!strcasecmp(p->transport, "tcp") || !strcasecmp(p->transport, "rdma")) && take_address(colon + 1, p);
}

char *opt_path(void *base, const char *value)
{
	struct conn_args *args = base;
	struct place p;

	if (!place_parse(value, &p))
		return sentence("\"%.100s\" is not TRANSPORT:ADDR[:PORT], such as tcp:192.0.2.7:4420 or rdma:[2001:db8::7]:4420", value);
	if (args->nr_paths == CONN_MAX_PATHS)
		return sentence("at most %d further addresses", CONN_MAX_PATHS);
	args->paths[args->nr_paths++] = value;
	return NULL;
}

char *opt_iopolicy(void *base, const char *value)
{
	static const char *const names[] = { "numa", "round-robin", "queue-depth" };
	struct conn_args *args = base;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcasecmp(names[i], value)) {
			args->iopolicy = (enum nvof_iopolicy)i;
			args->has_iopolicy = true;
			return NULL;
		}
	return sentence("\"%.100s\" is not a policy of paths; known are: numa, round-robin, queue-depth", value);
}

bool conn_has_paths(const struct conn_args *args)
{
	return args->nr_paths || args->nr_duplicates > 1;
}

int conn_only_one(const struct conn_args *args)
{
	if (!conn_has_paths(args))
		return EXIT_OK;
	return cli_usage_error(args->cli, args->nr_paths ? "--path" : "--duplicate-connect",
			       "--path, --duplicate-connect: this command works on one ctrl");
}

/* ---- connecting ---- */

struct attempt {
	struct nvof_ctrl *ctrl; /* NULL: it could not even be begun; errmsg says why */
	char *errmsg;		/* owned */
	bool done;
	int status;
};

static void attempt_done(void *arg, struct nvof_ctrl *ctrl, int status)
{
	struct attempt *a = arg;

	a->done = true;
	a->status = status;
}

static int begin(struct conn *c, const struct conn_args *args, enum conn_kind kind, const char *path, struct attempt *a)
{
	struct nvof_connect_opts opts;
	struct place p;
	int ret;

	conn_fill_opts(&opts, c, args, kind);
	if (path && place_parse(path, &p)) {
		opts.transport = p.transport;
		opts.traddr = p.traddr;
		opts.trsvcid = p.trsvcid[0] ? p.trsvcid : NULL;
	}
	ret = nvof_ctrl_connect(c->ctx, &opts, attempt_done, a, &a->ctrl);
	if (!ret)
		return EXIT_OK;
	if (ret == -EINVAL) {
		cli_error(c->cli, ret, "%s", nvof_ctx_errmsg(c->ctx));
		return EXIT_USAGE;
	}
	a->ctrl = NULL;
	a->errmsg = strdup(nvof_ctx_errmsg(c->ctx));
	if (!a->errmsg)
		abort();
	a->done = true;
	a->status = ret;
	return EXIT_OK;
}

static bool all_done(const struct attempt *attempts, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!attempts[i].done)
			return false;
	return true;
}

/* A path that can't be had is no failure as long as there is another one. */
static int take_live(struct conn *c, struct attempt *attempts, size_t nr)
{
	size_t nr_live = 0;

	for (size_t i = 0; i < nr; i++)
		nr_live += attempts[i].ctrl && !attempts[i].status;
	for (size_t i = 0; i < nr; i++) {
		struct attempt *a = &attempts[i];
		const char *why = a->errmsg ? a->errmsg : nvof_ctrl_errmsg(a->ctrl);

		if (!a->status) {
			c->ctrls[c->nr_ctrls++] = a->ctrl;
			continue;
		}
		if (nr_live)
			cli_warn(c->cli, "one path less: %s", why);
		else
			cli_error(c->cli, a->status, "%s", why);
		nvof_ctrl_free(a->ctrl);
	}
	return nr_live ? EXIT_OK : EXIT_FAILED;
}

static int join(struct conn *c, const struct conn_args *args)
{
	c->ctrl = c->ctrls[0];
	c->subsys = nvof_ctrl_subsystem(c->ctrl);
	if (!c->subsys)
		return cli_error(c->cli, -ENOMEM, "%s", nvof_ctx_errmsg(c->ctx));
	for (size_t i = 1; i < c->nr_ctrls; i++)
		if (!nvof_ctrl_subsystem(c->ctrls[i]))
			return cli_error(c->cli, -EINVAL, "%s", nvof_ctx_errmsg(c->ctx));
	nvof_subsystem_set_iopolicy(c->subsys, args->iopolicy);
	return EXIT_OK;
}

int conn_connect_paths(struct conn *c, const struct conn_args *args, enum conn_kind kind)
{
	size_t each = args->nr_duplicates ? args->nr_duplicates : 1, nr = (1 + args->nr_paths) * each;
	struct attempt *attempts = calloc(nr, sizeof(*attempts));
	int ret = EXIT_OK;

	c->ctrls = calloc(nr, sizeof(struct nvof_ctrl *));
	if (!attempts || !c->ctrls)
		abort();
	for (size_t i = 0; i < nr && !ret; i++)
		ret = begin(c, args, kind, i / each ? args->paths[i / each - 1] : NULL, &attempts[i]);
	/* After a mistake in the arguments what was begun goes with the ctx. */
	while (!ret && !all_done(attempts, nr))
		nvof_ctx_poll(c->ctx, -1);
	if (!ret)
		ret = take_live(c, attempts, nr);
	if (!ret)
		ret = join(c, args);
	if (ret == EXIT_USAGE)
		conn_forget(c);
	for (size_t i = 0; i < nr; i++)
		free(attempts[i].errmsg);
	free(attempts);
	return ret;
}

static void closed(void *arg, struct nvof_ctrl *ctrl, int status)
{
	size_t *nr_open = arg;

	--*nr_open;
}

void conn_disconnect_paths(struct conn *c)
{
	size_t nr_open = 0;

	for (size_t i = 0; i < c->nr_ctrls; i++)
		if (nvof_ctrl_state(c->ctrls[i]) == NVOF_CTRL_LIVE && !nvof_ctrl_disconnect(c->ctrls[i], closed, &nr_open))
			nr_open++;
	while (nr_open)
		nvof_ctx_poll(c->ctx, -1);
	conn_forget(c);
}

void conn_forget(struct conn *c)
{
	if (!c->ctrls) {
		nvof_ctrl_free(c->ctrl);
	} else {
		for (size_t i = 0; i < c->nr_ctrls; i++)
			nvof_ctrl_free(c->ctrls[i]);
		free(c->ctrls);
	}
	c->ctrls = NULL;
	c->nr_ctrls = 0;
	c->ctrl = NULL;
}

/* ---- what commands use of it ---- */

unsigned int conn_nr_hctx(const struct conn *c)
{
	return c->subsys ? nvof_subsystem_nr_hctx(c->subsys) : nvof_ctrl_nr_hctx(c->ctrl);
}

struct nvof_hctx *conn_hctx(const struct conn *c, unsigned int i)
{
	return c->subsys ? nvof_subsystem_hctx(c->subsys, i) : nvof_ctrl_hctx(c->ctrl, i);
}

unsigned int conn_nr_io_queues(const struct conn *c)
{
	unsigned int nr = 0;

	for (size_t i = 0; i < c->nr_ctrls; i++)
		nr += nvof_ctrl_nr_io_queues(c->ctrls[i]);
	return c->subsys ? nr : nvof_ctrl_nr_io_queues(c->ctrl);
}

bool conn_io_thread(const struct conn *c, unsigned int i, struct nvof_io_thread *info)
{
	for (size_t k = 0; k < c->nr_ctrls; i -= nvof_ctrl_nr_io_threads(c->ctrls[k++]))
		if (i < nvof_ctrl_nr_io_threads(c->ctrls[k]))
			return nvof_ctrl_io_thread(c->ctrls[k], i, info);
	return !c->subsys && nvof_ctrl_io_thread(c->ctrl, i, info);
}

bool conn_path_there(const struct nvof_ns *ns, const struct nvof_ctrl *ctrl, struct nvof_path *path)
{
	for (unsigned int i = 0; nvof_ns_path(ns, i, path); i++)
		if (path->ctrl == ctrl)
			return true;
	return false;
}

/* The same id is not the same namespace. */
static void tell_others(const struct conn *c, const struct nvof_ns *ns)
{
	char there[NS_WORDS_LEN], here[NS_WORDS_LEN];
	struct nvof_path path;

	for (size_t i = 0; i < c->nr_ctrls; i++) {
		uint32_t nsid = nvof_ns_nsid(ns);
		struct nvof_ns *other;

		if (conn_path_there(ns, c->ctrls[i], &path) || nvof_ctrl_state(c->ctrls[i]) != NVOF_CTRL_LIVE)
			continue;
		other = nvof_ns_get(c->ctrls[i], nsid);
		if (other)
			cli_warn(c->cli, "one path less: %s: namespace %" PRIu32 " there is not known to be the same one: %s; here %s",
				 nvof_ctrl_address(c->ctrls[i]), nsid, ns_words(other, there), ns_words(ns, here));
		else
			cli_warn(c->cli, "one path less: %s: there is no namespace %" PRIu32, nvof_ctrl_address(c->ctrls[i]), nsid);
		nvof_ns_close(other);
	}
}

int conn_open_shared_ns(struct conn *c, uint32_t nsid, struct nvof_ns **nsp)
{
	struct nvof_ns *ns, *second;
	int ret = nvof_subsystem_scan_sync(c->subsys);

	if (ret)
		return cli_error(c->cli, ret, "%s", nvof_ctx_errmsg(c->ctx));
	ns = nsid ? nvof_subsystem_ns(c->subsys, nsid) : nvof_subsystem_ns_next(c->subsys, 0);
	if (!ns)
		return nsid ? cli_argument_error(c->cli, "--namespace-id", -ENODEV, "--namespace-id: there is no active namespace %u", nsid)
			    : cli_error(c->cli, 0, "the subsystem has no namespaces");
	second = nsid ? NULL : nvof_subsystem_ns_next(c->subsys, nvof_ns_nsid(ns));
	nvof_ns_close(second);
	if (second) {
		nvof_ns_close(ns);
		return cli_usage_error(c->cli, "--namespace-id", "--namespace-id is missing: the subsystem has several namespaces");
	}
	tell_others(c, ns);
	*nsp = ns;
	return EXIT_OK;
}
