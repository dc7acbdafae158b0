/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the control socket's thread (control.c, control_serve.c) and what a request does (control_cmd.c). */
#ifndef NVOF_CLI_CONTROL_INTERNAL_H
#define NVOF_CLI_CONTROL_INTERNAL_H

#include <stddef.h>

#include <nvof/target.h>

#define CONTROL_LINE_MAX 65536 /* a request */

/* Runs in the thread until stopfd becomes readable. */
void control_serve(struct nvof_target *target, const char *config_path, int listenfd, int stopfd);
/* One request line (without its newline) -> the answer's text with a newline, to free(); NULL: no memory. */
char *control_run(struct nvof_target *target, const char *config_path, const char *line, size_t len);
/* A socket address for path: 0, -EINVAL (empty) or -ENAMETOOLONG. */
struct sockaddr_un;
int control_addr(const char *path, struct sockaddr_un *addr);

#endif
