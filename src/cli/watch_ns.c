/* SPDX-License-Identifier: BSD-3-Clause */
/* The events of namespaces. */
#include <inttypes.h>

#include "cli/ns_words.h"
#include "cli/watch.h"

void watch_tell_ns(struct watch *w, const struct nvof_event *event)
{
	static const char *const names[] = {
		[NVOF_EVENT_NS_ADDED] = "added",
		[NVOF_EVENT_NS_REMOVED] = "removed",
		[NVOF_EVENT_NS_RESIZED] = "resized",
		[NVOF_EVENT_NS_REPLACED] = "replaced",
	};
	bool present = !w->scanned && event->type == NVOF_EVENT_NS_ADDED;
	const char *name = present ? "present" : names[event->type];
	json_object *doc = watch_doc(w, name);
	char words[NS_WORDS_LEN];

	if (doc) {
		json_object_object_add(doc, "nsid", json_object_new_int64(event->nsid));
		if (event->type != NVOF_EVENT_NS_REMOVED)
			ns_add_json(doc, event->ns);
	}
	ns_words(event->ns, words);
	if (present)
		watch_line(w, doc, "namespace %" PRIu32 ": %s", event->nsid, words);
	else if (event->type == NVOF_EVENT_NS_REMOVED)
		watch_event(w, doc, "namespace %" PRIu32 " removed", event->nsid);
	else
		watch_event(w, doc, "namespace %" PRIu32 " %s: %s", event->nsid, name, words);
}
