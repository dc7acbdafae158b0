/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench io --compare: the variants in turns, each measurement in a process of its own: nothing of the one before is left in its memory.
 */
#include "cli/bench_compare.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/progress.h"
#include "cli/stop.h"

#define QUEUES_DEFAULT	   4
#define RUNTIME_DEFAULT_MS 1000
#define WARMUP_DEFAULT_MS  100
#define QUEUE_SIZE_DEFAULT 128u
#define ROUNDS_DEFAULT	   5
#define TOLD_MAX	   16384 /* a sample, or a document with a sentence in it */

/* ---- what is compared ---- */

static void add(struct compared *c, const char *name, uint32_t nr_ctrls, uint32_t nr_io_queues, uint32_t queues_per_hctx,
		enum nvof_iopolicy iopolicy)
{
	struct variant *v = &c->variants[c->nr_variants++];

	*v = (struct variant){
		.nr_ctrls = nr_ctrls, .nr_io_queues = nr_io_queues, .queues_per_hctx = queues_per_hctx, .iopolicy = iopolicy
	};
	snprintf(v->name, sizeof(v->name), "%s", name);
}

/* One connection; then n of them each time, in one hctx or several, in one ctrl or several. */
static void make_variants(struct compared *c, uint32_t n)
{
	char name[48];

	add(c, "1 queue", 1, 1, 1, NVOF_IOPOLICY_NUMA);
	snprintf(name, sizeof(name), "%u queues in 1 hctx", n);
	add(c, name, 1, n, n, NVOF_IOPOLICY_NUMA);
	if (n > 2 && n % 2 == 0) {
		snprintf(name, sizeof(name), "%u queues in %u hctxs", n, n / 2);
		add(c, name, 1, n, 2, NVOF_IOPOLICY_NUMA);
	}
	snprintf(name, sizeof(name), "%u queues in %u hctxs", n, n);
	add(c, name, 1, n, 1, NVOF_IOPOLICY_NUMA);
	snprintf(name, sizeof(name), "%u ctrls, round-robin", n);
	add(c, name, n, 1, 1, NVOF_IOPOLICY_ROUND_ROBIN);
	snprintf(name, sizeof(name), "%u ctrls, queue-depth", n);
	add(c, name, n, 1, 1, NVOF_IOPOLICY_QUEUE_DEPTH);
}

static struct bench_args args_of(const struct bench_args *all, const struct variant *v)
{
	struct bench_args args = *all;

	args.conn.nr_io_queues = v->nr_io_queues;
	args.conn.queues_per_hctx = v->queues_per_hctx;
	args.conn.has_policy = false; /* it is for those that have several queues for each hctx */
	args.conn.nr_duplicates = v->nr_ctrls;
	args.conn.iopolicy = v->iopolicy;
	args.iodepth = all->iodepth / variant_nr_hctx(v);
	if (!args.conn.queue_size && args.iodepth >= QUEUE_SIZE_DEFAULT)
		args.conn.queue_size = min_u32(args.iodepth + 1, 1024);
	return args;
}

/* ---- one measurement, in a process of its own ---- */

/* Resident, in bytes. */
static double memory_now(void)
{
	unsigned long long size, resident = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%llu %llu", &size, &resident) != 2)
		resident = 0;
	if (f)
		fclose(f);
	return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static int connect_variant(struct conn *c, const struct bench_args *args, const struct variant *v, double *ms)
{
	uint64_t start = clock_ns();
	int ret = v->nr_ctrls > 1 ? conn_connect_paths(c, &args->conn, CONN_IO) : conn_connect(c, &args->conn, CONN_IO);
	unsigned int nr = v->nr_ctrls * v->nr_io_queues;

	*ms = (double)(clock_ns() - start) / NSEC_PER_MSEC;
	if (!ret && conn_nr_io_queues(c) != nr)
		ret = cli_error(c->cli, 0, "the target granted %u of %u I/O queues", conn_nr_io_queues(c), nr);
	return ret;
}

static int measure(struct bench_args *args, const struct variant *v, struct sample *s)
{
	struct bench_result *r = calloc(1, sizeof(*r));
	double before;
	struct conn c;
	int ret;

	if (!r)
		abort();
	hist_reset(&r->lat); /* its pages are not the connections' */
	ret = conn_prepare(&c, &args->conn, CONN_IO);
	before = memory_now();
	if (!ret)
		ret = connect_variant(&c, args, v, &s->connect_ms);
	if (!ret)
		ret = bench_measure(&c, args, r);
	if (!ret) {
		double n = (double)(r->nr_reads + r->nr_writes);

		s->memory_kib = (memory_now() - before) / 1024;
		s->iops = r->seconds > 0 ? n / r->seconds : 0;
		s->bytes_per_s = r->seconds > 0 ? (double)r->bytes / r->seconds : 0;
		s->p50_us = (double)hist_quantile(&r->lat, 0.5) / NSEC_PER_USEC;
		s->p99_us = (double)hist_quantile(&r->lat, 0.99) / NSEC_PER_USEC;
		s->cpu_us = n > 0 ? (r->user_s + r->sys_s) * 1e6 / n : 0;
		ret = bench_complain(&c, args, r);
		if (!ret && r->interrupted)
			ret = EXIT_FAILED; /* a part of a measurement is none */
	}
	conn_close(&c);
	bench_result_clear(r);
	free(r);
	return ret;
}

/*
 * Never returns.  Signals stay blocked: what one cuts short is the parent's to tell.  To it goes the sample, or the document of what went
 * wrong.
 */
static void child(struct cli *cli, struct bench_args *args, const struct variant *v, int to)
{
	struct sample s = { 0 };
	const char *text;
	int ret;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	cli->about = v->name;
	ret = measure(args, v, &s);
	text = ret && cli->failure ? json_object_to_json_string_ext(cli->failure, JSON_C_TO_STRING_PLAIN) : "";
	if (ret ? write(to, text, strlen(text)) < 0 : write(to, &s, sizeof(s)) != (ssize_t)sizeof(s))
		ret = EXIT_FAILED;
	_exit(ret);
}

/* What it has to tell until it ends; a signal ends it.  The number of bytes. */
static size_t hear_child(pid_t pid, int from, char *buf, size_t len, struct stop *stop)
{
	struct pollfd fds[2] = { { .fd = from, .events = POLLIN }, { .fd = stop->fd, .events = POLLIN } };
	size_t got = 0;
	ssize_t n = 1;

	while (n) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents && stop_look(stop))
			kill(pid, SIGKILL);
		n = fds[0].revents ? read(from, buf + got, len - got) : 1;
		if (fds[0].revents && n > 0)
			got += (size_t)n;
	}
	return got;
}

/* It has said what went wrong; here it is kept for the document. */
static int child_failed(struct cli *cli, const struct variant *v, const char *text, int status)
{
	if (!WIFEXITED(status))
		return cli_error(cli, 0, "%s: the process of one measurement was ended by signal %d", v->name, WTERMSIG(status));
	if (!cli->failure)
		cli->failure = json_tokener_parse(text);
	if (!cli->failure)
		return cli_error(cli, 0, "%s: the process of one measurement ended without a result", v->name);
	return WEXITSTATUS(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

static int wait_child(struct cli *cli, const struct variant *v, pid_t pid, int from, struct sample *s, struct stop *stop)
{
	char told[TOLD_MAX];
	size_t len = hear_child(pid, from, told, sizeof(told) - 1, stop);
	int status = 0;

	told[len] = '\0';
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (stop->sig)
		return EXIT_FAILED;
	if (len != sizeof(*s) || !WIFEXITED(status) || WEXITSTATUS(status))
		return child_failed(cli, v, told, status);
	memcpy(s, told, sizeof(*s));
	return EXIT_OK;
}

static int measure_apart(struct cli *cli, const struct compared *c, size_t variant, struct sample *s, struct stop *stop)
{
	const struct variant *v = &c->variants[variant];
	struct bench_args args = args_of(c->args, v);
	int fds[2], ret;
	pid_t pid;

	if (pipe(fds))
		return cli_error(cli, -errno, "pipe: %s", strerror(errno));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		close(fds[0]);
		child(cli, &args, v, fds[1]);
	}
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return cli_error(cli, -errno, "fork: %s", strerror(errno));
	}
	ret = wait_child(cli, v, pid, fds[0], s, stop);
	close(fds[0]);
	return ret;
}

/* ---- all of them ---- */

static int check_args(struct cli *cli, const struct bench_args *args)
{
	if (args->conn.nr_io_queues || args->conn.nr_duplicates || args->conn.nr_paths || args->nr_hctx)
		return cli_usage_error(cli, "--compare",
				       "--compare says itself how many queues, hctxs and ctrls there are; --queues-per-hctx tells it how "
				       "many connections");
	if (args->conn.has_iopolicy)
		return cli_usage_error(cli, "--iopolicy", "--iopolicy: --compare measures the policies itself");
	if (args->verify)
		return cli_usage_error(cli, "--verify", "--verify: not with --compare");
	if (args->conn.queues_per_hctx == 1)
		return cli_usage_error(cli, "--queues-per-hctx", "--queues-per-hctx: --compare wants at least 2");
	if (args->iodepth < (args->conn.queues_per_hctx ? args->conn.queues_per_hctx : QUEUES_DEFAULT))
		return cli_usage_error(cli, "--iodepth",
				       "--iodepth: with --compare it is that of all hctxs together: at least one for each queue");
	return EXIT_OK;
}

static int run(struct cli *cli, struct compared *c, struct stop *stop)
{
	size_t nr = c->args->rounds * c->nr_variants;
	int ret = EXIT_OK;

	while (c->nr_samples < nr && !ret) {
		size_t i = c->nr_samples % c->nr_variants;
		struct progress progress;

		progress_start(&progress, "comparing", 0);
		progress_say(&progress, "round %u of %u, %s", compared_nr_rounds(c) + 1, c->args->rounds, c->variants[i].name);
		ret = measure_apart(cli, c, i, &c->samples[c->nr_samples], stop);
		progress_end(&progress);
		c->nr_samples += !ret;
	}
	c->interrupted = stop_look(stop) || stop->sig;
	return c->interrupted ? EXIT_OK : ret;
}

/* What a signal or a failure cut short is told as far as it went; ret: of the failure. */
static int tell(struct cli *cli, struct compared *c, int ret)
{
	int bad = bench_compare_svg(cli, c);

	if (!ret)
		ret = bad;
	bad = c->nr_samples || c->interrupted ? bench_compare_report(cli, c) : EXIT_OK;
	return ret ? ret : bad;
}

static void fill_args(struct bench_args *args)
{
	if (!args->runtime_ms)
		args->runtime_ms = RUNTIME_DEFAULT_MS;
	if (!args->warmup_ms)
		args->warmup_ms = WARMUP_DEFAULT_MS;
	if (!args->rounds)
		args->rounds = ROUNDS_DEFAULT;
}

int bench_compare(struct cli *cli, struct bench_args *args)
{
	struct compared c = { .args = args };
	struct stop stop = { .fd = -1 };
	int ret = check_args(cli, args);

	if (!ret)
		ret = bench_compare_svg_open(cli, &c);
	if (ret)
		return ret;
	fill_args(args);
	make_variants(&c, args->conn.queues_per_hctx ? args->conn.queues_per_hctx : QUEUES_DEFAULT);
	c.samples = calloc(args->rounds * c.nr_variants, sizeof(*c.samples));
	if (!c.samples)
		abort();
	ret = stop_begin(&stop);
	ret = ret ? cli_error(cli, ret, "signalfd: %s", strerror(-ret)) : run(cli, &c, &stop);
	ret = tell(cli, &c, ret);
	stop_end(&stop);
	free(c.samples);
	stop_raise(&stop);
	return ret;
}
