/* SPDX-License-Identifier: BSD-3-Clause */
/* The control socket's life: where it lies, who may have it, and its thread. */
#include "cli/control.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/thread.h"
#include "cli/control_internal.h"

struct control {
	struct nvof_target *target;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char *config_path;
	int listenfd, stopfd;
	struct stat st; /* of the socket, to remove no other */
	pthread_t thread;
};

struct text {
	char *buf;
	size_t len;
};

static int say(const struct text *t, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static int say(const struct text *t, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (t->len)
		vsnprintf(t->buf, t->len, fmt, ap);
	va_end(ap);
	return code;
}

int control_dir(char *buf, size_t len)
{
	const char *run = getenv("XDG_RUNTIME_DIR");
	int n;

	if (run && run[0] == '/')
		n = snprintf(buf, len, "%s/nvof", run);
	else
		n = snprintf(buf, len, "/tmp/nvof-%u", (unsigned int)geteuid());
	return n < 0 || (size_t)n >= len ? -ENAMETOOLONG : 0;
}

int control_default_path(const char *name, char *buf, size_t len)
{
	size_t used;
	int ret = control_dir(buf, len), n;

	if (ret)
		return ret;
	used = strlen(buf);
	n = snprintf(buf + used, len - used, "/target-%s.sock", name);
	return n < 0 || (size_t)n >= len - used ? -ENAMETOOLONG : 0;
}

int control_addr(const char *path, struct sockaddr_un *addr)
{
	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (!*path)
		return -EINVAL;
	if (strlen(path) >= sizeof(addr->sun_path))
		return -ENAMETOOLONG;
	strcpy(addr->sun_path, path);
	return 0;
}

/* The default directory is made when it is missing, and used only when it is ours alone: /tmp is everybody's. */
static int prepare_dir(const char *dir, const struct text *err)
{
	char own[PATH_MAX];
	struct stat st;

	if (control_dir(own, sizeof(own)) || strcmp(dir, own))
		return 0;
	if (mkdir(dir, 0700) && errno != EEXIST)
		return say(err, -errno, "%s: mkdir: %s", dir, strerror(errno));
	if (lstat(dir, &st))
		return say(err, -errno, "%s: %s", dir, strerror(errno));
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022)
		return say(err, -EPERM, "%s: is not a directory of yours alone", dir);
	return 0;
}

static bool is_live(const struct sockaddr_un *addr)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool live;

	if (fd < 0)
		return true;
	/* EAGAIN: somebody listens and has a full backlog. */
	live = !connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) || errno == EAGAIN;
	close(fd);
	return live;
}

/* Under a lock on the directory, so that of two that start at once one sees the other. */
static int replace_stale(const struct sockaddr_un *addr, const struct text *err)
{
	struct stat st;

	if (lstat(addr->sun_path, &st))
		return errno == ENOENT ? 0 : say(err, -errno, "%s: %s", addr->sun_path, strerror(errno));
	if (!S_ISSOCK(st.st_mode))
		return say(err, -EEXIST, "%s: exists and is not a socket", addr->sun_path);
	if (is_live(addr))
		return say(err, -EADDRINUSE, "%s: another target listens there", addr->sun_path);
	if (unlink(addr->sun_path))
		return say(err, -errno, "%s: remove a stale socket: %s", addr->sun_path, strerror(errno));
	return 0;
}

static int open_listener(struct control *c, const struct text *err)
{
	struct sockaddr_un addr;
	char dir[sizeof(c->path)];
	int dirfd, ret;

	ret = control_addr(c->path, &addr);
	if (ret)
		return say(err, ret, "%s: %s", c->path, strerror(-ret));
	memcpy(dir, c->path, sizeof(dir));
	dirname(dir);
	if (!strchr(c->path, '/'))
		strcpy(dir, ".");
	ret = prepare_dir(dir, err);
	if (ret)
		return ret;
	c->listenfd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->listenfd < 0)
		return say(err, -errno, "%s: socket: %s", c->path, strerror(errno));
	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dirfd < 0)
		return say(err, -errno, "%s: %s", dir, strerror(errno));
	flock(dirfd, LOCK_EX);
	ret = replace_stale(&addr, err);
	/* The mode set before bind is the one the socket gets: nobody else can connect in between. */
	if (!ret && (fchmod(c->listenfd, 0600) || bind(c->listenfd, (struct sockaddr *)&addr, sizeof(addr)) || listen(c->listenfd, 64)))
		ret = say(err, -errno, "%s: %s", c->path, strerror(errno));
	if (!ret && (chmod(c->path, 0600) || lstat(c->path, &c->st)))
		ret = say(err, -errno, "%s: %s", c->path, strerror(errno));
	close(dirfd);
	return ret;
}

static void *control_thread(void *arg)
{
	struct control *c = arg;

	control_serve(c->target, c->config_path, c->listenfd, c->stopfd);
	return NULL;
}

static int start_thread(struct control *c, const struct text *err)
{
	int ret;

	c->stopfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->stopfd < 0)
		return say(err, -errno, "control socket: eventfd: %s", strerror(errno));
	ret = thread_spawn(&c->thread, NULL, control_thread, c);
	return ret ? say(err, ret, "control socket: thread: %s", strerror(-ret)) : 0;
}

/* Somebody else's socket may stand at the path by now. */
static void remove_socket(const struct control *c)
{
	struct stat st;

	if (!lstat(c->path, &st) && st.st_dev == c->st.st_dev && st.st_ino == c->st.st_ino)
		unlink(c->path);
}

static void control_free(struct control *c)
{
	if (c->listenfd >= 0) {
		remove_socket(c);
		close(c->listenfd);
	}
	if (c->stopfd >= 0)
		close(c->stopfd);
	free(c->config_path);
	free(c);
}

int control_start(struct nvof_target *target, const struct control_opts *opts, struct control **cp, char *errbuf, size_t errlen)
{
	struct text err = { errbuf, errlen };
	char path[PATH_MAX];
	struct control *c;
	int ret = 0;

	*cp = NULL;
	if (opts->path)
		ret = snprintf(path, sizeof(path), "%s", opts->path) >= (int)sizeof(path) ? -ENAMETOOLONG : 0;
	else
		ret = control_default_path("default", path, sizeof(path));
	if (ret || strlen(path) >= sizeof(c->path))
		return say(&err, -ENAMETOOLONG, "%.60s...: %s", path, strerror(ENAMETOOLONG));
	c = calloc(1, sizeof(*c));
	if (!c)
		return say(&err, -ENOMEM, "control socket: out of memory");
	c->target = target;
	c->listenfd = c->stopfd = -1;
	strcpy(c->path, path);
	if (opts->config_path) {
		c->config_path = realpath(opts->config_path, NULL);
		if (!c->config_path)
			c->config_path = strdup(opts->config_path);
		ret = c->config_path ? 0 : say(&err, -ENOMEM, "control socket: out of memory");
	}
	if (!ret)
		ret = open_listener(c, &err);
	if (!ret)
		ret = start_thread(c, &err);
	if (ret) {
		control_free(c);
		return ret;
	}
	*cp = c;
	return 0;
}

const char *control_path(const struct control *c)
{
	return c->path;
}

void control_stop(struct control *c)
{
	uint64_t one = 1;
	ssize_t n;

	if (!c)
		return;
	n = write(c->stopfd, &one, sizeof(one));
	(void)n; /* an eventfd at zero takes it */
	pthread_join(c->thread, NULL);
	control_free(c);
}
