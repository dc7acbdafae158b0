/* SPDX-License-Identifier: BSD-3-Clause */
/* A target's configuration into a file that nvmetcli and nvof_target_load_config() read. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/size.h"
#include "proto/ana.h"
#include "proto/discovery.h"
#include "proto/nqn.h"
#include "target/target.h"

#define LOCK_TRIES 100 /* of 50 ms */

static void add_text(json_object *obj, const char *key, const char *text)
{
	json_object_object_add(obj, key, json_object_new_string(text));
}
static void add_number(json_object *obj, const char *key, int64_t n)
{
	json_object_object_add(obj, key, json_object_new_int64(n));
}

static json_object *add_object(json_object *obj, const char *key)
{
	json_object *o = json_object_new_object();

	json_object_object_add(obj, key, o);
	return o;
}

static json_object *add_array(json_object *obj, const char *key)
{
	json_object *a = json_object_new_array();

	json_object_object_add(obj, key, a);
	return a;
}

static json_object *append_object(json_object *array)
{
	json_object *o = json_object_new_object();

	json_object_array_add(array, o);
	return o;
}

/* ---- the target as JSON; under api_lock ---- */

/* A plain absolute path for a plain file, so that nvmetcli can use it; a size as it is now for memory. */
static void add_device_path(json_object *device, const struct target_ns *ns)
{
	uint64_t bytes = target_ns_nsze(ns) << ns->lba_shift;
	char size[24], spec[64], *real;

	if (!strncmp(ns->spec, "file:", 5)) {
		bool plain = !strchr(ns->spec, ',');

		real = plain && ns->spec[5] != '/' ? realpath(ns->spec + 5, NULL) : NULL;
		add_text(device, "path", real ? real : ns->spec + (plain && ns->spec[5] == '/' ? 5 : 0));
		free(real);
		return;
	}
	snprintf(spec, sizeof(spec), "%s:%s", ns->backend->ops->name, size_format(bytes, size));
	add_text(device, "path", spec);
}

static void save_ns(json_object *array, const struct target_ns *ns)
{
	json_object *obj = append_object(array), *ana = add_object(obj, "ana"), *device = add_object(obj, "device"), *ours;
	char text[37];

	snprintf(text, sizeof(text), "%u", ns->anagrpid);
	add_text(ana, "grpid", text);
	uuid_format(ns->nguid, text);
	add_text(device, "nguid", text);
	add_device_path(device, ns);
	uuid_format(ns->uuid, text);
	add_text(device, "uuid", text);
	add_number(obj, "enable", 1);
	add_number(obj, "nsid", ns->nsid);
	if (ns->lba_shift == 9 && !ns->readonly)
		return;
	ours = add_object(obj, "nvof");
	add_number(ours, "block_size", 1 << ns->lba_shift);
	add_number(ours, "readonly", ns->readonly);
}

static bool has_text(json_object *array, const char *text)
{
	size_t i, nr = json_object_array_length(array);

	for (i = 0; i < nr; i++)
		if (!strcmp(json_object_get_string(json_object_object_get(json_object_array_get_idx(array, i), "nqn")), text))
			return true;
	return false;
}

static void save_subsys(json_object *subsystems, json_object *hosts, const struct target_subsys *s)
{
	json_object *obj = append_object(subsystems), *allowed = add_array(obj, "allowed_hosts"), *attr, *list;
	const struct ns_table *table = target_ns_table(s);
	const struct target_host *h;
	uint32_t i, nr = ns_table_nr(table);
	char text[8];

	cds_list_for_each_entry (h, &s->hosts, link) {
		json_object_array_add(allowed, json_object_new_string(h->hostnqn));
		if (!has_text(hosts, h->hostnqn))
			add_text(append_object(hosts), "nqn", h->hostnqn);
	}
	attr = add_object(obj, "attr");
	add_text(attr, "allow_any_host", s->allow_any_host ? "1" : "0");
	snprintf(text, sizeof(text), "%u", s->cntlid_max);
	add_text(attr, "cntlid_max", text);
	snprintf(text, sizeof(text), "%u", s->cntlid_min);
	add_text(attr, "cntlid_min", text);
	add_text(attr, "model", s->model);
	add_text(attr, "serial", s->serial);
	list = add_array(obj, "namespaces");
	for (i = 0; i < nr; i++)
		save_ns(list, table->slots[i].ns);
	add_text(obj, "nqn", s->nqn);
}

static void save_addr(json_object *obj, const char *trtype, uint8_t adrfam, const char *traddr, const char *trsvcid)
{
	json_object *addr = add_object(obj, "addr");

	add_text(addr, "adrfam", adrfam_name(adrfam));
	add_text(addr, "traddr", traddr);
	add_text(addr, "treq", "not specified");
	add_text(addr, "trsvcid", trsvcid);
	add_text(addr, "trtype", trtype);
}

/* Group 1, as nvmetcli does, those that somebody set, and those that have members. */
static void save_ana(json_object *obj, const struct target_port *port)
{
	json_object *list = add_array(obj, "ana_groups"), *group;

	for (uint32_t grpid = 1; grpid <= ANA_GRPID_MAX; grpid++) {
		if (!target_ana_listed(port, grpid))
			continue;
		group = append_object(list);
		add_text(add_object(group, "ana"), "state", ana_state_name(target_ana_state(port, grpid)));
		add_number(group, "grpid", grpid);
	}
}

/* What nvmetcli has no word for. */
static void save_ours(json_object *obj, const struct target_port *port)
{
	json_object *ours;

	if (!port->all_subsys && port->ana_kernel)
		return;
	ours = add_object(obj, "nvof");
	if (port->all_subsys)
		add_number(ours, "all_subsystems", 1);
	if (!port->ana_kernel)
		add_number(ours, "ana_optimized", 1);
}

static void save_port(json_object *ports, const struct nvof_target *t, const struct target_port *port, bool with_referrals)
{
	json_object *obj = append_object(ports), *list;
	const struct target_referral *r;
	const struct target_subsys *s;

	save_ana(obj, port);
	save_addr(obj, port->ops->name, port->adrfam, port->traddr, port->trsvcid);
	add_number(obj, "portid", port->portid);
	list = add_array(obj, "referrals");
	cds_list_for_each_entry (r, &t->referrals, link) {
		json_object *ref;

		if (!with_referrals)
			break;
		ref = append_object(list);
		save_addr(ref, r->transport, r->adrfam, r->traddr, r->trsvcid);
		add_number(ref, "enable", 1);
	}
	list = add_array(obj, "subsystems");
	cds_list_for_each_entry (s, &t->subsyss, link)
		if (target_port_offers(port, s))
			json_object_array_add(list, json_object_new_string(s->nqn));
	save_ours(obj, port);
}

/* The lists change under api_lock alone, which is held, together with lock. */
static json_object *save_target(struct nvof_target *t)
{
	json_object *root = json_object_new_object();
	json_object *hosts = add_array(root, "hosts"), *ports = add_array(root, "ports"), *subsystems = add_array(root, "subsystems");
	const struct target_subsys *s;
	const struct target_port *port;
	bool first = true;

	cds_list_for_each_entry (s, &t->subsyss, link)
		save_subsys(subsystems, hosts, s);
	cds_list_for_each_entry (port, &t->ports, link) {
		save_port(ports, t, port, first);
		first = false;
	}
	if (first && !cds_list_empty(&t->referrals))
		log_warn(&t->log, "save config: the referrals are left out: the file keeps them with a port, and there is none");
	return root;
}

/* ---- into the file ---- */

static int write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

/* The new file has the old one's permissions; a new one is the owner's alone, as nvmetcli's. */
static int write_temp(int dirfd, const char *temp, const char *name, const char *text)
{
	struct stat st;
	mode_t mode = fstatat(dirfd, name, &st, 0) ? 0600 : st.st_mode & 0777;
	int fd, ret;

	unlinkat(dirfd, temp, 0); /* of a writer that died; the lock is ours */
	fd = openat(dirfd, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	ret = write_all(fd, text, strlen(text));
	if (!ret)
		ret = write_all(fd, "\n", 1);
	if (!ret && (fchmod(fd, mode) || fsync(fd)))
		ret = -errno;
	if (close(fd) && !ret)
		ret = -errno;
	return ret;
}

/* Writers of one file take turns by a lock on its directory, so nothing is left behind beside the file. */
static int lock_dir(int dirfd)
{
	struct timespec pause = { .tv_nsec = 50000000 };
	int i;

	for (i = 0; i < LOCK_TRIES; i++) {
		if (!flock(dirfd, LOCK_EX | LOCK_NB))
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		nanosleep(&pause, NULL);
	}
	return -EBUSY;
}

static int replace_file(const char *dir, const char *name, const char *text)
{
	char temp[NAME_MAX + 1];
	int dirfd, ret;

	if (snprintf(temp, sizeof(temp), ".%s.new", name) >= (int)sizeof(temp))
		return -ENAMETOOLONG;
	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dirfd < 0)
		return -errno;
	ret = lock_dir(dirfd);
	if (ret) {
		close(dirfd);
		return ret;
	}
	ret = write_temp(dirfd, temp, name, text);
	if (!ret && renameat(dirfd, temp, dirfd, name))
		ret = -errno;
	if (ret)
		unlinkat(dirfd, temp, 0);
	/* Best effort: some file systems can't sync a directory, and the file is whole either way. */
	fsync(dirfd);
	close(dirfd);
	return ret;
}

/* The rename would take the place of a device or a FIFO, which is no way to write to one. */
static int check_kind(const char *path, struct error *err)
{
	struct stat st;
	const char *kind;

	if (stat(path, &st) || S_ISREG(st.st_mode))
		return 0;
	if (S_ISDIR(st.st_mode))
		return error_set(err, -EISDIR, "save config to %s: it is a directory, no regular file", path);
	if (S_ISFIFO(st.st_mode))
		kind = "a FIFO";
	else if (S_ISSOCK(st.st_mode))
		kind = "a socket";
	else
		kind = "a device";
	return error_set(err, -EINVAL, "save config to %s: it is %s, no regular file", path, kind);
}

static int save_file(const char *path, const char *text)
{
	char real[PATH_MAX], dir[PATH_MAX], base[PATH_MAX];

	/* A symbolic link stays one: what it points to is replaced. */
	if (!realpath(path, real) && snprintf(real, sizeof(real), "%s", path) >= (int)sizeof(real))
		return -ENAMETOOLONG;
	memcpy(dir, real, sizeof(dir));
	memcpy(base, real, sizeof(base));
	return replace_file(dirname(dir), basename(base), text);
}

int nvof_target_save_config(struct nvof_target *t, const char *path)
{
	struct error err = { 0 };
	json_object *root;
	const char *text;
	int ret = -ENOMEM, bad;

	/* Held until the file is there: what is saved last is what is the case last. */
	target_api_enter(t);
	bad = target_api_need("path", path, &err) ?: check_kind(path, &err);
	if (bad)
		return target_api_leave(t, bad, &err);
	root = save_target(t);
	text = json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE);
	if (text)
		ret = save_file(path, text);
	json_object_put(root);
	if (ret)
		error_set(&err, ret, "save config to %s: %s", path, strerror(-ret));
	return target_api_leave(t, ret, &err);
}
