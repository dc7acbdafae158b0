/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control socket of `nvof target`: `nvof target-ctl` changes a running target through it.
 *
 * A UNIX-domain stream socket, mode 0600.  One request is one line of JSON ({"cmd":"add-ns","subsys":NQN,...}), its answer is one line:
 * {"ok":true,...} or {"ok":false,"code":-22,"error":"sentence"}.  A client may send several, one after the other.
 */
#ifndef NVOF_CLI_CONTROL_H
#define NVOF_CLI_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

#include <nvof/target.h>

struct control;

struct control_opts {
	const char *path;	 /* where to listen; NULL: control_default_path() */
	const char *config_path; /* what `save` without a file writes to; NULL: it must name one */
};

/* "$XDG_RUNTIME_DIR/nvof/target-NAME.sock", else "/tmp/nvof-UID/target-NAME.sock".  name: the first listener's port, or "loop".  0 or
 * -ENAMETOOLONG. */
int control_default_path(const char *name, char *buf, size_t len);
/* The directory of the default paths. */
int control_dir(char *buf, size_t len);
/*
 * Listens and serves from a thread of its own, which calls the public API on target.  A socket nobody listens on any more is replaced; a
 * live one is -EADDRINUSE.  0, or -errno and a sentence in errbuf.
 */
int control_start(struct nvof_target *target, const struct control_opts *opts, struct control **cp, char *errbuf, size_t errlen);
const char *control_path(const struct control *c);
/* Ends the thread (requests under way are answered first), removes the socket.  Before nvof_target_free().  NULL is fine. */
void control_stop(struct control *c);

#endif
