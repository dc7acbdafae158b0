/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the target's control socket, sends the request, brings the answer. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "cli/control.h"
#include "cli/control_internal.h"
#include "cli/target_ctl.h"

/* A removal may wait for a slow disk, a save for a lock; but not for ever. */
#define ANSWER_S    60
/* A script that just started the target in the background need not care that its socket is not there yet. */
#define START_TRIES 10 /* of 50 ms */

static int connect_path(const char *path)
{
	struct timeval limit = { .tv_sec = ANSWER_S };
	struct sockaddr_un addr;
	int fd, ret = control_addr(path, &addr);

	if (ret)
		return ret;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (!connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

static int connect_named(const char *path)
{
	struct timespec pause = { .tv_nsec = 50000000 };
	int i, fd = connect_path(path);

	for (i = 0; i < START_TRIES && (fd == -ENOENT || fd == -ECONNREFUSED); i++) {
		nanosleep(&pause, NULL);
		fd = connect_path(path);
	}
	return fd;
}

/* The one target of this user, when there is one: its connected descriptor.  What was found goes into found[]. */
static int connect_only(struct cli *cli, char found[PATH_MAX])
{
	char dir[PATH_MAX - 256] = "", path[PATH_MAX];
	int only = -1, nr = 0, fd;
	struct dirent *e;
	DIR *d = control_dir(dir, sizeof(dir)) ? NULL : opendir(dir);

	while (d && (e = readdir(d))) {
		size_t len = strlen(e->d_name);

		if (len < 5 || strcmp(e->d_name + len - 5, ".sock"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		fd = connect_path(path);
		if (fd < 0)
			continue;
		nr++;
		if (only >= 0)
			cli_warn(cli, "a target: --control %s", path);
		if (nr == 2)
			cli_warn(cli, "a target: --control %s", found);
		if (only >= 0)
			close(fd);
		else {
			only = fd;
			strcpy(found, path);
		}
	}
	if (d)
		closedir(d);
	if (nr == 1)
		return only;
	if (only >= 0)
		close(only);
	if (nr)
		cli_error(cli, 0, "%d targets are running: say which with --control PATH", nr);
	else
		cli_error(cli, -ENOENT, "no running target found in %s; say where its socket is with --control PATH", dir);
	return -1;
}

static int send_request(int fd, json_object *request)
{
	const char *text = json_object_to_json_string_ext(request, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	char *line;
	int len = asprintf(&line, "%s\n", text), sent = 0;

	while (sent < len) {
		ssize_t n = send(fd, line + sent, (size_t)(len - sent), MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			break;
		sent += n > 0 ? (int)n : 0;
	}
	if (len >= 0)
		free(line);
	return len >= 0 && sent == len ? 0 : -errno;
}

/* One line, however long (the status of thousands of namespaces). */
static int read_answer(int fd, json_object **answer)
{
	size_t used = 0, room = 0;
	char *line = NULL, *more;
	int ret = 0;
	ssize_t n;

	do {
		if (room - used < 65536) {
			room += 131072;
			more = realloc(line, room);
			if (!more) {
				ret = -ENOMEM;
				break;
			}
			line = more;
		}
		n = recv(fd, line + used, room - used - 1, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			ret = !n ? -ECONNRESET : errno == EAGAIN ? -ETIMEDOUT : -errno;
			break;
		}
		used += (size_t)n;
	} while (line[used - 1] != '\n');
	if (!ret) {
		line[used] = '\0';
		*answer = json_tokener_parse(line);
		ret = json_object_is_type(*answer, json_type_object) ? 0 : -EPROTO;
	}
	free(line);
	return ret;
}

json_object *ctl_ask(struct cli *cli, const char *path, json_object *request)
{
	char found[PATH_MAX] = "";
	json_object *answer = NULL;
	int fd, ret;

	fd = path ? connect_named(path) : connect_only(cli, found);
	if (fd < 0 && !path)
		return NULL;
	if (fd < 0) {
		cli_error(cli, fd, "the target's control socket %s: %s", path, strerror(-fd));
		return NULL;
	}
	ret = send_request(fd, request);
	if (!ret)
		ret = read_answer(fd, &answer);
	close(fd);
	if (!ret)
		return answer;
	cli_error(cli, ret, "asking the target at %s: %s", path ? path : found, strerror(-ret));
	json_object_put(answer);
	return NULL;
}
