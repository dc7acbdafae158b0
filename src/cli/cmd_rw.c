/* SPDX-License-Identifier: BSD-3-Clause */
/* read, write and compare: the same but for the way the data go. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/io_args.h"
#include "cli/transfer.h"

#define EXAMPLE_URI "nvme+tcp://127.0.0.1:4420/nqn.2026-11.org.example:nvof/1"
#define SYNOPSIS    "[-t TRANSPORT] -a ADDR [-s PORT] -n NQN [--namespace-id NSID] [OPTION]... | URI"

static int open_file(struct cli *cli, const struct io_args *args, struct transfer *t)
{
	bool out = t->op == TRANSFER_READ;
	struct stat st;

	if (!args->data || !strcmp(args->data, "-")) {
		t->fd = out ? STDOUT_FILENO : STDIN_FILENO;
		t->fd_name = out ? "standard output" : "standard input";
		if (out && cli->json)
			return cli_usage_error(cli, "--data", "--data FILE is needed with -o json: the data would mix with the document");
		return EXIT_OK;
	}
	t->fd_name = args->data;
	t->fd = out ? open(args->data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : open(args->data, O_RDONLY | O_CLOEXEC);
	if (t->fd < 0)
		return cli_argument_error(cli, "--data", -errno, "--data: %s: %s", args->data, strerror(errno));
	/* Opening one to read succeeds, and only reading it would fail. */
	if (!fstat(t->fd, &st) && S_ISDIR(st.st_mode))
		return cli_argument_error(cli, "--data", -EISDIR, "--data: %s: %s", args->data, strerror(EISDIR));
	return EXIT_OK;
}

/* What a file system only says at the end (a full disk, a quota) is an error, too. */
static int close_file(struct cli *cli, struct transfer *t)
{
	int fd = t->fd;

	if (fd <= STDERR_FILENO)
		return EXIT_OK;
	t->fd = -1;
	return close(fd) ? cli_error(cli, -errno, "%s: %s", t->fd_name, strerror(errno)) : EXIT_OK;
}

/* The bytes from where the file stands to its end; NOT_GIVEN for what has no length. */
static uint64_t bytes_left(int fd)
{
	struct stat st;
	off_t at;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return NOT_GIVEN;
	at = lseek(fd, 0, SEEK_CUR);
	return at >= 0 && at < st.st_size ? (uint64_t)(st.st_size - at) : 0;
}

static int check_input(struct cli *cli, const struct io_args *args, const struct transfer *t)
{
	uint64_t have = bytes_left(t->fd), want = t->nr_blocks * nvof_ns_block_size(t->ns);

	if (have != NOT_GIVEN && have < want)
		return cli_usage_error(cli, "--data", "%s has %llu bytes, %llu are needed", t->fd_name, (unsigned long long)have,
				       (unsigned long long)want);
	if (have == NOT_GIVEN && args->data_size == NOT_GIVEN && args->block_count == NOT_GIVEN)
		return cli_usage_error(cli, "--data-size", "--data-size is missing: %s has no size of its own", t->fd_name);
	return EXIT_OK;
}

static int transfer(struct cli *cli, const struct io_args *args, struct transfer *t)
{
	uint64_t start;
	int ret = conn_open_ns(t->conn, &args->conn, &t->ns);

	if (ret)
		return ret;
	ret = io_args_blocks(cli, args, nvof_ns_block_size(t->ns), nvof_ns_nr_blocks(t->ns),
			     t->op == TRANSFER_READ ? NOT_GIVEN : bytes_left(t->fd), &t->nr_blocks);
	if (!ret && t->op != TRANSFER_READ)
		ret = check_input(cli, args, t);
	if (ret)
		return ret;
	start = clock_ns();
	t->slba = args->start_block;
	ret = transfer_run(t);
	if (!ret)
		ret = close_file(cli, t);
	if (!ret && (t->op != TRANSFER_READ || t->fd != STDOUT_FILENO))
		ret = io_args_report(cli, args, t->ns, t->nr_blocks, clock_ns() - start);
	return ret;
}

static int run(struct cli *cli, enum transfer_op op, const struct usage *usage, int argc, char **argv)
{
	struct transfer t = { .op = op, .fd = -1 };
	struct io_args args;
	struct conn c;
	int ret;

	io_args_init(&args, cli);
	ret = conn_parse(usage, (struct opt_group[]){ { "Which blocks", io_range_opts, &args }, { "Data", io_data_opts, &args }, { 0 } },
			 &args.conn, argc, argv);
	if (ret != OPTS_GO)
		goto out;
	ret = open_file(cli, &args, &t);
	if (ret)
		goto out;
	t.conn = &c;
	t.io_flags = io_args_flags(&args);
	ret = conn_open(&c, &args.conn, CONN_IO);
	if (!ret)
		ret = transfer(cli, &args, &t);
	nvof_ns_close(t.ns);
	conn_close(&c);
out:
	close_file(cli, &t);
	conn_args_clear(&args.conn);
	return ret;
}

int cmd_read(struct cli *cli, int argc, char **argv)
{
	static const struct usage usage = {
		SYNOPSIS,
		"Reads blocks into a file or standard output; as many as you like: in chunks, over all queues.",
		"$ nvof read " EXAMPLE_URI " --data-size 64M --data blocks.bin",
	};

	return run(cli, TRANSFER_READ, &usage, argc, argv);
}

int cmd_write(struct cli *cli, int argc, char **argv)
{
	static const struct usage usage = {
		SYNOPSIS,
		"Writes a file or standard input to blocks; as many as you like: in chunks, over all queues.",
		"$ nvof write " EXAMPLE_URI " --data-size 1M --data /dev/urandom",
	};

	return run(cli, TRANSFER_WRITE, &usage, argc, argv);
}

int cmd_compare(struct cli *cli, int argc, char **argv)
{
	static const struct usage usage = {
		SYNOPSIS,
		"Lets the ctrl compare blocks with a file or standard input; exit status 1 and the first byte that differs when they do.",
		"$ nvof read " EXAMPLE_URI " --data-size 1M --data blocks.bin\n"
		"$ nvof compare " EXAMPLE_URI " --data blocks.bin",
	};

	return run(cli, TRANSFER_COMPARE, &usage, argc, argv);
}
