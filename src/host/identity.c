/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host's identity.  One machine must be one host to a target, today and after a restart (C003); and one host NQN goes with one host id
 * (C002), or a target takes us for two hosts, or for somebody else.
 */
#include <errno.h>
#include <fcntl.h>
#include <nvme/fabrics.h>
#include <nvof/nvof.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "host/identity.h"
#include "proto/nqn.h"

/* The name space of UUIDs that we make from texts. */
static const uuid_t name_space = { 0x9d, 0x3a, 0x0f, 0x6e, 0x51, 0x7c, 0x4b, 0x0e, 0x8b, 0x9e, 0x4e, 0x56, 0x4f, 0x46, 0x68, 0x6f };

void identity_hostid(const char *hostnqn, const char *stored_nqn, const char *stored_id, uint8_t hostid[16])
{
	if (stored_id && stored_nqn && !strcmp(hostnqn, stored_nqn) && uuid_parse_text(stored_id, hostid))
		return;
	if (nqn_uuid(hostnqn, hostid))
		return;
	uuid_generate_sha1(hostid, name_space, hostnqn, strlen(hostnqn));
}

char *identity_hostnqn_from(const char *machine)
{
	char text[37], *nqn;
	uuid_t id;

	uuid_generate_sha1(id, name_space, machine, strlen(machine));
	uuid_unparse_lower(id, text);
	return asprintf(&nqn, "nqn.2014-08.org.nvmexpress:uuid:%s", text) < 0 ? NULL : nqn;
}

/* The first line of a file, into line; false when there is none. */
static bool read_line(const char *path, char *line, size_t len)
{
	FILE *f = fopen(path, "re");
	bool ok;

	if (!f)
		return false;
	ok = fgets(line, (int)len, f);
	fclose(f);
	if (!ok)
		return false;
	line[strcspn(line, "\r\n")] = '\0';
	return *line;
}

/* libnvme's generator reads the machine's DMI; where it can't (no root) it draws lots, which would be another host each time. */
static char *hostnqn_of_hardware(void)
{
	char *a = nvmf_hostnqn_generate(), *b = nvmf_hostnqn_generate();
	static const uint8_t zero[16];
	uint8_t id[16];
	bool stable = a && b && !strcmp(a, b) && !(nqn_uuid(a, id) && !memcmp(id, zero, sizeof(zero)));

	free(b);
	if (stable && !nqn_check(a))
		return a;
	free(a);
	return NULL;
}

/* Without a descriptor to read a file with we would look like a machine that has none, and so like another host. */
static bool can_read_files(void)
{
	int fd = open("/", O_PATH | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || (errno != EMFILE && errno != ENFILE && errno != ENOMEM);
}

char *nvof_hostnqn_default(void)
{
	char text[256], *nqn;

	if (!can_read_files())
		return NULL;
	nqn = nvmf_hostnqn_from_file();

	if (nqn && !nqn_check(nqn))
		return nqn;
	free(nqn);
	/* The machine id comes first: every user of the machine can read it, so root and others are the same host. */
	if (read_line("/etc/machine-id", text, sizeof(text)) && strcmp(text, "uninitialized"))
		return identity_hostnqn_from(text);
	if (read_line("/var/lib/dbus/machine-id", text, sizeof(text)))
		return identity_hostnqn_from(text);
	nqn = hostnqn_of_hardware();
	if (nqn)
		return nqn;
	if (!gethostname(text, sizeof(text) - 1)) {
		text[sizeof(text) - 1] = '\0';
		if (*text)
			return identity_hostnqn_from(text);
	}
	errno = ENOENT;
	return NULL;
}

char *nvof_hostid_default(const char *hostnqn)
{
	/* The stored id goes with the NQN that this machine uses by default: the stored one when there is one. */
	char *own, *stored_id, *text = NULL;
	uint8_t id[16];

	if (!can_read_files())
		return NULL;
	own = nvof_hostnqn_default();
	stored_id = nvmf_hostid_from_file();
	if (!hostnqn)
		hostnqn = own;
	if (hostnqn && (text = malloc(37))) {
		identity_hostid(hostnqn, own, stored_id, id);
		uuid_format(id, text);
	}
	free(stored_id);
	free(own);
	return text;
}
