/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A target's configuration as nvmetcli writes it.
 *
 *   config_json.c   typed values out of JSON, with the place in the file in each error
 *   config_parse.c  JSON text -> struct config, everything checked that can be without a target; config_ports.c: its ports
 *   config_load.c   file -> target, all or nothing
 *   config_save.c   target -> file, by rename
 *   status.c        target -> JSON for people and monitors
 *
 * What is ours beyond nvmetcli's: a namespace's device.path may be "mem:64M", "null:1T" or "file:PATH"; what nvmetcli has no word for
 * stands in objects named "nvof", which it skips: of a namespace block_size (512, the default, or 4096) and readonly (0 or 1), of a port
 * all_subsystems (1: those that are added later, too).  Of a port with a list ana_groups the groups it leaves out are inaccessible, but for
 * group 1, as they are in the kernel; without one all are optimized.
 */
#ifndef NVOF_TARGET_CONFIG_H
#define NVOF_TARGET_CONFIG_H

#include <errno.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "nvof/target.h"

struct config_ns {
	size_t index; /* in the file */
	uint32_t nsid;
	char *backend; /* owned */
	uint32_t block_size;
	uint8_t uuid[16], nguid[16]; /* zero: none given */
	bool readonly;
	uint32_t anagrpid;
};

/* All other texts are borrowed from config.root. */
struct config_subsys {
	const char *nqn, *serial, *model; /* serial, model: NULL when not given */
	bool allow_any_host;
	uint16_t cntlid_min, cntlid_max;
	const char **hosts; /* owned array */
	size_t nr_hosts;
	struct config_ns *ns; /* owned; ascending nsid */
	size_t nr_ns;
};

struct config_referral {
	const char *transport, *traddr, *trsvcid;
};

struct config_port {
	uint16_t portid;
	char *spec; /* owned: "tcp:127.0.0.1:4420" */
	bool all_subsys;
	const char **subsys; /* owned array of NQNs that are in the configuration */
	size_t nr_subsys;
	struct config_referral *referrals; /* owned */
	size_t nr_referrals;
	struct nvof_ana_group *ana; /* owned */
	size_t nr_ana;
	bool ana_optimized; /* the groups that are not listed; else inaccessible, as in the kernel, when some are */
};

struct config {
	json_object *root;
	struct config_subsys *subsys;
	size_t nr_subsys;
	struct config_port *ports;
	size_t nr_ports;
};

/* 0, or -EINVAL with the line and column, or the path ("subsystems[0].namespaces[2].nsid"), of what is wrong; -ENOMEM.  log: warnings. */
int config_parse(const char *text, size_t len, struct config *c, const struct log *log, struct error *err);
void config_clear(struct config *c);

struct config_ctx;
/* config_ports.c: needs c's subsystems */
int config_parse_ports(struct config_ctx *x, json_object *root, struct config *c);

/* ---- config_json.c ---- */

/* Where in the file we are: a list on the stack, from the leaf up. */
struct config_at {
	const struct config_at *up; /* NULL: the top */
	const char *key;	    /* or NULL: element index of an array */
	size_t index;
};

struct config_ctx {
	const struct log *log;
	struct error *err;
};

#define CONFIG_KEYS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static inline int config_no_memory(struct config_ctx *x)
{
	return error_set(x->err, -ENOMEM, "out of memory");
}
/* Sets the error "PATH: sentence"; key may be NULL (at itself).  Returns -EINVAL. */
int config_bad(struct config_ctx *x, const struct config_at *at, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void config_note(struct config_ctx *x, int level, const struct config_at *at, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* Keys of obj: those in used are; a warning for those in neither list, an info line for what nvmetcli writes and we do not use (unused). */
void config_check_keys(struct config_ctx *x, const struct config_at *at, json_object *obj, const char *const *used,
		       const char *const *unused);

/* Values by key; null and left out are the same.  -EINVAL when there but of another type or out of range. */
int config_object(struct config_ctx *x, const struct config_at *at, json_object *obj, const char *key, json_object **out); /* NULL: none */
int config_array(struct config_ctx *x, const struct config_at *at, json_object *obj, const char *key, json_object **out, size_t *nr);
int config_string(struct config_ctx *x, const struct config_at *at, json_object *obj, const char *key,
		  const char **out); /* "" counts as none: NULL */
int config_number(struct config_ctx *x, const struct config_at *at, json_object *obj, const char *key, uint64_t min, uint64_t max,
		  uint64_t none, uint64_t *out); /* also from a text of decimal digits */
int config_flag(struct config_ctx *x, const struct config_at *at, json_object *obj, const char *key, bool none, bool *out);
/* Element i of an array as an object / a text. */
int config_object_at(struct config_ctx *x, const struct config_at *at, json_object *array, json_object **out);
int config_string_at(struct config_ctx *x, const struct config_at *at, json_object *array, const char **out);
/* JSON text -> root; errors have line and column. */
int config_text(struct config_ctx *x, const char *text, size_t len, json_object **root);

#endif
