/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SIGINT and SIGTERM.  They end a command at once, but for one that has something to tell about what it did so far: it takes them as a
 * struct stop, looks at it now and then, and is ended by the signal when it has told.
 */
#ifndef NVOF_CLI_STOP_H
#define NVOF_CLI_STOP_H

#include <signal.h>
#include <stdbool.h>

#define STOP_LOOK_US 50000 /* how long to wait for something else before the next look */

struct stop {
	int fd;	 /* signalfd */
	int sig; /* the last signal that came; 0: none */
	sigset_t old;
};

/* Signals are kept back until stop_end().  0 or -errno. */
int stop_begin(struct stop *s);
/* A signal came since the last call. */
bool stop_look(struct stop *s);
/* Once one has come, others that came before this are that one again; those that come after it end the program at once. */
void stop_end(struct stop *s);
/* After stop_end(): ends the program by the signal that came, as if nobody had kept it back.  Returns when none came. */
void stop_raise(const struct stop *s);

/* With -o json a command that a signal ends prints a document, too: from now on, until stop_without_document(). */
void stop_with_document(void);
void stop_without_document(void);

#endif
