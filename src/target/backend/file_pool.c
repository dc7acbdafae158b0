/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads for what would block, one pool per loop, started as they are needed.  Completions go back through loop_post(). */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/thread.h"
#include "base/util.h"
#include "target/backend/file.h"

#define POOL_THREADS 16

struct file_pool {
	struct loop_ext ext;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	/* under lock */
	struct cds_list_head queue; /* backend_io.link */
	unsigned int nr_queued, nr_idle;
	bool stop;
	/* the loop's thread's */
	unsigned int nr_threads;
	pthread_t threads[POOL_THREADS];
};

static const char file_pool_key;

static void io_done(struct loop_work *w)
{
	struct backend_io *io = container_of(w, struct backend_io, work);

	io->done(io, io->result);
}

static struct backend_io *pool_next(struct file_pool *p)
{
	struct backend_io *io = NULL;

	pthread_mutex_lock(&p->lock);
	p->nr_idle++;
	while (cds_list_empty(&p->queue) && !p->stop)
		pthread_cond_wait(&p->wake, &p->lock);
	p->nr_idle--;
	if (!cds_list_empty(&p->queue)) {
		io = cds_list_first_entry(&p->queue, struct backend_io, link);
		cds_list_del(&io->link);
		p->nr_queued--;
	}
	pthread_mutex_unlock(&p->lock);
	return io;
}

static void *pool_thread(void *arg)
{
	struct file_pool *p = arg;
	struct backend_io *io;

	while ((io = pool_next(p))) {
		io->result = file_op_run(container_of(io->backend, struct file_backend, b), io);
		loop_work_init(&io->work, io_done);
		loop_post(io->loop, &io->work);
	}
	return NULL;
}

/* It gets no signals, and so SIGXFSZ is an error of the write alone. */
static bool pool_start_thread(struct file_pool *p)
{
	if (p->nr_threads == POOL_THREADS || thread_spawn(&p->threads[p->nr_threads], NULL, pool_thread, p))
		return false;
	p->nr_threads++;
	return true;
}

static void pool_free(struct loop_ext *ext)
{
	struct file_pool *p = container_of(ext, struct file_pool, ext);
	unsigned int i;

	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->lock);
	for (i = 0; i < p->nr_threads; i++)
		pthread_join(p->threads[i], NULL);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static struct file_pool *pool_of(struct loop *loop)
{
	struct loop_ext *ext = loop_ext_find(loop, &file_pool_key);
	struct file_pool *p;

	if (ext)
		return container_of(ext, struct file_pool, ext);
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->ext.key = &file_pool_key;
	p->ext.free = pool_free;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	CDS_INIT_LIST_HEAD(&p->queue);
	loop_ext_add(loop, &p->ext);
	return p;
}

void file_pool_submit(struct file_backend *fb, struct backend_io *io)
{
	struct file_pool *p = pool_of(io->loop);
	bool more;

	/* Without a single thread the io is run here: slow, but it is run. */
	if (!p || (!p->nr_threads && !pool_start_thread(p))) {
		io->done(io, file_op_run(fb, io));
		return;
	}
	pthread_mutex_lock(&p->lock);
	cds_list_add_tail(&io->link, &p->queue);
	p->nr_queued++;
	more = p->nr_queued > p->nr_idle;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
	if (more)
		pool_start_thread(p);
}
