/* SPDX-License-Identifier: BSD-3-Clause */
/* Who we are to a target: host NQN and host id. */
#ifndef NVOF_HOST_IDENTITY_H
#define NVOF_HOST_IDENTITY_H

#include <stdint.h>

/*
 * The host id for hostnqn, by rule and without asking the system: the stored id when hostnqn is the stored NQN; else the UUID in a
 * uuid-form NQN; else a UUID made from the NQN's text.  The stored ones may be NULL.
 */
void identity_hostid(const char *hostnqn, const char *stored_nqn, const char *stored_id, uint8_t hostid[16]);
/* A uuid-form NQN made from a text that names this machine (machine id, host name): the same each time.  NULL: no memory. */
char *identity_hostnqn_from(const char *machine);

#endif
