/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals that a command takes for itself: what it has to tell is told first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/stop.h"

/* In a child, which gets sig so many times before it tells; how it ended. */
static int ended_after(int sig, int before, char *told, size_t len)
{
	int fds[2], status;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct stop stop;
		int i;

		signal(sig, SIG_DFL);
		if (stop_begin(&stop))
			_exit(2);
		for (i = 0; i < before; i++) {
			raise(sig);
			if (!i && !stop_look(&stop))
				_exit(3);
		}
		stop_end(&stop);
		if (write(fds[1], "told", 4) != 4)
			_exit(4);
		stop_raise(&stop);
		_exit(0);
	}
	close(fds[1]);
	n = read(fds[0], told, len - 1);
	told[n > 0 ? n : 0] = '\0';
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void what_a_signal_ends_is_told_first(void **state)
{
	static const int signals[] = { SIGINT, SIGTERM };
	char told[8];
	size_t i;
	int before;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		for (before = 1; before <= 3; before++) {
			int status = ended_after(signals[i], before, told, sizeof(told));

			assert_string_equal(told, "told");
			assert_true(WIFSIGNALED(status));
			assert_int_equal(WTERMSIG(status), signals[i]);
		}
}

static void without_a_signal_nothing_ends(void **state)
{
	char told[8];
	int status = ended_after(SIGINT, 0, told, sizeof(told));

	assert_string_equal(told, "told");
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_signal_ends_is_told_first),
		cmocka_unit_test(without_a_signal_nothing_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
