/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of ours and the application's signals. */
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/thread.h"

struct seen {
	sem_t there;
	sigset_t mask;
};

static void *look(void *arg)
{
	struct seen *seen = arg;

	pthread_sigmask(SIG_SETMASK, NULL, &seen->mask);
	sem_post(&seen->there);
	return NULL;
}

/* The test's own mask has one signal in it, before and after. */
static void expect_deaf(const struct seen *seen)
{
	sigset_t mine;

	assert_true(sigismember(&seen->mask, SIGTERM));
	assert_true(sigismember(&seen->mask, SIGXFSZ));
	pthread_sigmask(SIG_SETMASK, NULL, &mine);
	assert_true(sigismember(&mine, SIGUSR1));
	assert_false(sigismember(&mine, SIGTERM));
}

static void a_thread_gets_no_signals_and_its_maker_does(void **state)
{
	struct seen seen;
	pthread_t thread;

	sem_init(&seen.there, 0, 0);
	assert_int_equal(thread_spawn(&thread, NULL, look, &seen), 0);
	pthread_join(thread, NULL);
	expect_deaf(&seen);
	assert_int_equal(thread_spawn_detached(look, &seen), 0);
	sem_wait(&seen.there); /* of the first one */
	sem_wait(&seen.there);
	expect_deaf(&seen);
	sem_destroy(&seen.there);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_gets_no_signals_and_its_maker_does),
	};
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	pthread_sigmask(SIG_SETMASK, &one, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
