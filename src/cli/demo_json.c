/* SPDX-License-Identifier: BSD-3-Clause */
/* All that the demo measured, as one document: what -o json prints, and the report's data. */
#include <sys/utsname.h>
#include <stdio.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/demo.h"
#include "cli/text.h"

static void add(json_object *to, const char *key, json_object *value)
{
	json_object_object_add(to, key, value);
}

/* One decimal of a microsecond is enough, and keeps the report small. */
static json_object *rounded(double v)
{
	return decimals_json(v, 1);
}

static json_object *ms(double us)
{
	return number_json(us / 1000);
}

static json_object *setup_json(const struct demo_setup *setup)
{
	json_object *o = json_object_new_object(), *spans = json_object_new_array();

	add(o, "total_ms", ms(setup->times.total_us));
	add(o, "admin_ms", ms(setup->times.admin_us));
	add(o, "io_queues_ms", ms(setup->times.io_queues_us));
	add(o, "spans", spans);
	for (size_t i = 0; i < setup->nr_spans; i++) {
		json_object *span = json_object_new_object();

		add(span, "qid", json_object_new_int(setup->spans[i].qid));
		add(span, "state", json_object_new_string(setup->spans[i].state));
		add(span, "start_us", rounded(setup->spans[i].start_us));
		add(span, "end_us", rounded(setup->spans[i].end_us));
		json_object_array_add(spans, span);
	}
	return o;
}

static json_object *quantile(const struct hist *lat, double q)
{
	return rounded((double)hist_quantile(lat, q) / NSEC_PER_USEC);
}

/* The percentile curve: ever finer towards 1, as each further nine matters as much as the one before. */
static json_object *curve_json(const struct hist *lat)
{
	json_object *curve = json_object_new_array();
	double rest = 1;

	for (int i = 0; i <= 96 && rest * (double)lat->n >= 1; i++, rest *= 0.887) {
		json_object *point = json_object_new_object();

		add(point, "q", decimals_json(1 - rest, 7));
		add(point, "us", quantile(lat, 1 - rest));
		json_object_array_add(curve, point);
	}
	return curve;
}

static json_object *io_json(const struct demo_io *io)
{
	json_object *o = json_object_new_object(), *lat = json_object_new_object();
	double seconds = (double)io->elapsed_ns / NSEC_PER_SEC;

	add(o, "name", json_object_new_string(io->name));
	add(o, "bytes", json_object_new_int64(io->bytes));
	add(o, "depth", json_object_new_int64(io->depth));
	add(o, "iops", rounded((double)io->nr_ios / seconds));
	add(o, "bytes_per_s", rounded((double)io->nr_ios * io->bytes / seconds));
	add(lat, "mean", rounded(hist_mean(&io->lat) / NSEC_PER_USEC));
	add(lat, "p50", quantile(&io->lat, 0.5));
	add(lat, "p99", quantile(&io->lat, 0.99));
	add(lat, "p999", quantile(&io->lat, 0.999));
	add(lat, "max", quantile(&io->lat, 1));
	add(o, "lat_us", lat);
	add(o, "curve", curve_json(&io->lat));
	return o;
}

static json_object *machine_json(void)
{
	json_object *o = json_object_new_object();
	struct utsname name;
	char system[160] = "";

	if (!uname(&name))
		snprintf(system, sizeof(system), "%.60s %.80s", name.sysname, name.release);
	add(o, "cpus", json_object_new_int64(sysconf(_SC_NPROCESSORS_ONLN)));
	add(o, "system", json_object_new_string(system));
	return o;
}

json_object *demo_json(const struct demo *demo)
{
	json_object *doc = cli_json_new(), *setup = json_object_new_object(), *verify = json_object_new_object(),
		    *io = json_object_new_array();

	add(doc, "version", json_object_new_string(nvof_version()));
	add(doc, "delay_ms", json_object_new_uint64(demo->delay_ms));
	add(doc, "nr_io_queues", json_object_new_int64(nvof_ctrl_nr_io_queues(demo->ctrl)));
	add(setup, "serial", setup_json(&demo->serial));
	add(setup, "parallel", setup_json(&demo->parallel));
	add(doc, "setup", setup);
	add(verify, "nr_namespaces", json_object_new_int64(demo->nr_namespaces));
	add(verify, "bytes", json_object_new_uint64(demo->verified_bytes));
	add(verify, "errors", json_object_new_int64(demo->nr_bad_ns));
	add(doc, "verify", verify);
	for (size_t i = 0; i < DEMO_NR_IO; i++)
		json_object_array_add(io, io_json(&demo->io[i]));
	add(doc, "io", io);
	add(doc, "machine", machine_json());
	return doc;
}
