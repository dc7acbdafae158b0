/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVOF_CLI_CONTROL_REQUEST_H
#define NVOF_CLI_CONTROL_REQUEST_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "nvof/target.h"

struct request {
	struct nvof_target *target;
	const char *config_path;
	json_object *args, *reply;
	char *subsys; /* owned; found when the request names none */
};

/* The reply says so; returns code. */
int request_refuse(struct request *r, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The result of an API call: with the target's words when it failed. */
int request_api(struct request *r, int ret);

/* NULL, or none: the request has no such argument, or one of another type. */
const char *request_text(const struct request *r, const char *key);
uint64_t request_number(const struct request *r, const char *key, uint64_t none);
bool request_flag(const struct request *r, const char *key, bool none);

/* 0, or what request_refuse() returned. */
int request_need_text(struct request *r, const char *key, const char **out);
int request_need_subsys(struct request *r, const char **nqn);

#endif
