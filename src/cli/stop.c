/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/stop.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/util.h"

#define DOCUMENT(name) \
	"{\n  \"schema\": 1,\n  \"error\": {\n    \"message\": \"ended by " name "\",\n    \"signal\": \"" name "\"\n  }\n}\n"

static const int stop_signals[] = { SIGINT, SIGTERM };

static void stop_set(sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < ARRAY_SIZE(stop_signals); i++)
		sigaddset(set, stop_signals[i]);
}

int stop_begin(struct stop *s)
{
	sigset_t set;

	stop_set(&set);
	s->sig = 0;
	s->fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (s->fd < 0)
		return -errno;
	pthread_sigmask(SIG_BLOCK, &set, &s->old);
	return 0;
}

bool stop_look(struct stop *s)
{
	struct signalfd_siginfo info;

	if (read(s->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return false;
	s->sig = (int)info.ssi_signo;
	return true;
}

void stop_end(struct stop *s)
{
	if (s->fd < 0)
		return;
	/* Signals come in pairs: timeout(1), and a terminal beside a parent that passes them on, reach a process and its group. */
	while (s->sig && stop_look(s))
		;
	close(s->fd);
	s->fd = -1;
	pthread_sigmask(SIG_SETMASK, &s->old, NULL);
}

void stop_raise(const struct stop *s)
{
	if (!s->sig)
		return;
	fflush(stdout); /* what was told so far */
	raise(s->sig);
}

/* Only what a signal handler may do. */
static void tell_and_end(int sig)
{
	static const char by_int[] = DOCUMENT("SIGINT"), by_term[] = DOCUMENT("SIGTERM");
	const char *text = sig == SIGINT ? by_int : by_term;
	ssize_t n = write(STDOUT_FILENO, text, strlen(text));

	(void)n; /* there is nobody left to tell */
	signal(sig, SIG_DFL);
	raise(sig);
}

/* What is ignored stays so. */
static void handle(void (*from)(int), void (*to)(int))
{
	struct sigaction now, act = { .sa_handler = to };

	for (size_t i = 0; i < ARRAY_SIZE(stop_signals); i++)
		if (!sigaction(stop_signals[i], NULL, &now) && now.sa_handler == from)
			sigaction(stop_signals[i], &act, NULL);
}

void stop_with_document(void)
{
	handle(SIG_DFL, tell_and_end);
}

void stop_without_document(void)
{
	handle(tell_and_end, SIG_DFL);
}
