/* SPDX-License-Identifier: BSD-3-Clause */
/* For builds without libFuzzer: a fuzz target takes the empty input, and each file of the folders that are named.  A fault ends the
 * program. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In memory of its own size, so that a sanitizer sees a read behind its end. */
static void take(const uint8_t *data, size_t len)
{
	uint8_t *input = calloc(1, len + !len);

	memcpy(input, data, len);
	LLVMFuzzerTestOneInput(input, len);
	free(input);
}

static bool take_file(const char *path)
{
	static uint8_t data[1 << 20];
	FILE *f = fopen(path, "rb");
	size_t len;

	if (!f) {
		fprintf(stderr, "open %s: %s\n", path, strerror(errno));
		return false;
	}
	len = fread(data, 1, sizeof(data), f);
	fclose(f);
	take(data, len);
	return true;
}

static unsigned int take_folder(const char *folder)
{
	char path[PATH_MAX];
	struct dirent *entry;
	unsigned int nr = 0;
	DIR *dir = opendir(folder);

	if (!dir) {
		fprintf(stderr, "open %s: %s\n", folder, strerror(errno));
		return 0;
	}
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		fprintf(stderr, "%s\n", path); /* the last one is the one that failed */
		nr += take_file(path);
	}
	closedir(dir);
	return nr;
}

int main(int argc, char **argv)
{
	take((const uint8_t *)"", 0);
	for (int i = 1; i < argc; i++)
		if (!take_folder(argv[i])) {
			fprintf(stderr, "%s has no inputs\n", argv[i]);
			return 1;
		}
	return 0;
}
