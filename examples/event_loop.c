/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libnvof inside an event loop of your own: epoll waits for the ctx's descriptor beside everything else, here a timer that prints a rate.
 * Keeps 32 reads in flight for three seconds.
 *
 *	./event_loop 127.0.0.1 4420 nqn.2026-11.org.example:nvof
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <nvof/nvof.h>

#define DEPTH  32
#define IO_LEN 4096

struct app {
	struct nvof_ctx *ctx;
	struct nvof_ctrl *ctrl;
	struct nvof_ns *ns;
	unsigned long long nr_done, next_lba;
	unsigned int seconds, nr_flying;
	int status; /* the first thing that went wrong */
	int quit;
	char buf[DEPTH][IO_LEN];
};

struct io {
	struct app *app;
	char *buf;
};

static void failed(struct app *app, int status)
{
	if (!app->status)
		app->status = status;
	app->quit = 1;
}

static void submit(struct io *io);

static void io_done(void *arg, const struct nvof_cpl *cpl)
{
	struct io *io = arg;

	io->app->nr_flying--;
	io->app->nr_done++;
	if (cpl->status)
		failed(io->app, cpl->status);
	if (!io->app->quit)
		submit(io);
}

static void submit(struct io *io)
{
	struct app *app = io->app;
	uint32_t nlb = IO_LEN / nvof_ns_block_size(app->ns);
	int ret;

	if (app->next_lba + nlb > nvof_ns_nr_blocks(app->ns))
		app->next_lba = 0;
	ret = nvof_read(nvof_ctrl_hctx(app->ctrl, 0), app->ns, app->next_lba, nlb, io->buf, 0, io_done, io);
	app->next_lba += nlb;
	if (ret)
		failed(app, ret);
	else
		app->nr_flying++;
}

static void ns_opened(void *arg, int status, struct nvof_ns *ns)
{
	struct app *app = arg;

	app->ns = ns;
	if (status)
		failed(app, status);
}

static void connected(void *arg, struct nvof_ctrl *ctrl, int status)
{
	struct app *app = arg;

	if (!status)
		status = nvof_ns_open(ctrl, 1, ns_opened, app);
	if (status)
		failed(app, status);
}

static int timer_fd(void)
{
	const struct itimerspec each_second = { .it_interval = { .tv_sec = 1 }, .it_value = { .tv_sec = 1 } };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);

	timerfd_settime(fd, 0, &each_second, NULL);
	return fd;
}

static void tick(struct app *app, int fd)
{
	uint64_t n;

	if (read(fd, &n, sizeof(n)) != sizeof(n))
		return;
	printf("%llu reads\n", app->nr_done);
	app->nr_done = 0;
	if (++app->seconds == 3)
		app->quit = 1;
}

static void loop(struct app *app)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC), timer = timer_fd(), started = 0;
	struct io ios[DEPTH];

	ev.data.fd = nvof_ctx_fd(app->ctx);
	epoll_ctl(epoll, EPOLL_CTL_ADD, ev.data.fd, &ev);
	ev.data.fd = timer;
	epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &ev);
	while (!app->quit || app->nr_flying) {
		/* Before each sleep: sends what was submitted, and tells when there is something to do at once. */
		int timeout = nvof_ctx_prepare_wait(app->ctx) ? -1 : 0;

		if (epoll_wait(epoll, &ev, 1, timeout) == 1 && ev.data.fd == timer)
			tick(app, timer);
		nvof_ctx_poll(app->ctx, 0);
		for (; app->ns && !app->quit && started < DEPTH; started++) {
			ios[started] = (struct io){ app, app->buf[started] };
			submit(&ios[started]);
		}
	}
	close(timer);
	close(epoll);
}

int main(int argc, char **argv)
{
	static struct app app;
	struct nvof_connect_opts opts;
	char words[150];

	if (argc != 4) {
		fprintf(stderr, "usage: event_loop ADDR PORT NQN\n");
		return 2;
	}
	if (nvof_ctx_new(NULL, &app.ctx))
		return 1;
	nvof_connect_opts_init(&opts);
	opts.traddr = argv[1];
	opts.trsvcid = argv[2];
	opts.subsysnqn = argv[3];
	opts.nr_io_queues = 1;
	app.status = nvof_ctrl_connect(app.ctx, &opts, connected, &app, &app.ctrl);
	if (!app.status)
		loop(&app);
	if (app.status) {
		const char *why = app.ctrl ? nvof_ctrl_errmsg(app.ctrl) : nvof_ctx_errmsg(app.ctx);

		fprintf(stderr, "%s\n", *why ? why : nvof_status_str(app.status, words, sizeof(words)));
	} else {
		nvof_ns_close(app.ns);
		nvof_ctrl_disconnect_sync(app.ctrl);
	}
	nvof_ctrl_free(app.ctrl);
	nvof_ctx_free(app.ctx);
	return app.status != 0;
}
