/* SPDX-License-Identifier: BSD-3-Clause */
/* The log of a discovery ctrl, read again at each event that says it changed. */
#include <errno.h>
#include <inttypes.h>

#include "cli/watch.h"

static void log_read(void *arg, int status, struct nvof_disc_log *log)
{
	struct watch *w = arg;
	json_object *doc;

	/* The loss of the ctrl is told by others. */
	if (status > 0 || status == -EAGAIN)
		conn_status(&w->conn, status, "reading the discovery log");
	if (status)
		return;
	doc = watch_doc(w, w->scanned ? "discovery" : "present");
	if (doc) {
		json_object_object_add(doc, "genctr", json_object_new_uint64(log->genctr));
		json_object_object_add(doc, "nr_records", json_object_new_int64((int64_t)log->nr_entries));
	}
	if (w->scanned)
		watch_event(w, doc, "discovery log changed: generation %" PRIu64 ", %zu records", log->genctr, log->nr_entries);
	else
		watch_line(w, doc, "discovery log: generation %" PRIu64 ", %zu records", log->genctr, log->nr_entries);
	w->scanned = true;
	nvof_disc_log_free(log);
}

void watch_disc_read(struct watch *w)
{
	int ret;

	if (nvof_ctrl_id(w->conn.ctrl)->cntrltype != NVME_CTRL_CNTRLTYPE_DISCOVERY)
		return;
	/* It asks for the next event as well. */
	ret = nvof_discover(w->conn.ctrl, log_read, w);
	if (ret && ret != -ENOTCONN)
		conn_status(&w->conn, ret, "reading the discovery log");
}
