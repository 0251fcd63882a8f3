// SPDX-License-Identifier: GPL-2.0
/* Threads that stand for the workers of the kernel's unbound workqueue. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "host.h"

#define MAX_WORKS	512

enum state { FREE, QUEUED, RUNNING, DONE };

static struct work {
	void (*run)(void *work);
	void *work;
	enum state state;
	bool cancelled;
} works[MAX_WORKS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queued = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;

static struct work *find_state(enum state state)
{
	for (struct work *w = works; w < works + MAX_WORKS; w++)
		if (w->state == state)
			return w;
	return NULL;
}

static void *run_works(void *unused)
{
	struct work *w;

	pthread_mutex_lock(&lock);
	for (;;) {
		while (!(w = find_state(QUEUED)))
			pthread_cond_wait(&queued, &lock);
		w->state = RUNNING;
		pthread_mutex_unlock(&lock);
		w->run(w->work);
		pthread_mutex_lock(&lock);
		w->state = DONE;
		pthread_cond_broadcast(&done);
	}
	return NULL;
}

void threads_start(unsigned int nr)
{
	pthread_t thread;

	while (nr--)
		if (pthread_create(&thread, NULL, run_works, NULL))
			die("cannot start a thread: raise ulimit -u");
}

void threads_start_all(void)
{
	unsigned int nr;
	cpu_set_t cpus;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	nr = CPU_COUNT(&cpus);
	if (nr > layout->nr_cpus)
		nr = layout->nr_cpus;
	threads_start(nr - 1);
}

static struct {
	unsigned long nr;
	atomic_ulong next;		/* piece that nobody has taken */
	void (*piece)(unsigned long i);
} shared;

static void take_pieces(void *unused)
{
	unsigned long i;

	while ((i = atomic_fetch_add(&shared.next, 1)) < shared.nr)
		shared.piece(i);
}

void threads_share(unsigned int threads, unsigned long nr, void (*piece)(unsigned long i))
{
	static char sharers[MAX_WORKS];

	shared.nr = nr;
	shared.next = 0;
	shared.piece = piece;
	for (unsigned int i = 1; i < threads; i++)
		replay_queue(take_pieces, &sharers[i]);
	take_pieces(NULL);
	for (unsigned int i = 1; i < threads; i++)
		replay_cancel(&sharers[i], true);
}

KERNEL_CALLS
void replay_queue(void (*run)(void *work), void *work)
{
	struct work *w;

	pthread_mutex_lock(&lock);
	/* One that nobody waited for. */
	for (w = works; w < works + MAX_WORKS; w++)
		if (w->work == work && w->state == DONE)
			w->state = FREE;
	w = find_state(FREE);
	if (!w)
		die("more than %d works: enlarge MAX_WORKS in threads.c", MAX_WORKS);
	*w = (struct work) { run, work, QUEUED, false };
	pthread_cond_signal(&queued);
	pthread_mutex_unlock(&lock);
}

KERNEL_CALLS
void replay_cancel(void *work, bool wait)
{
	struct work *w = works;

	pthread_mutex_lock(&lock);
	while (w < works + MAX_WORKS && (w->state == FREE || w->work != work))
		w++;
	if (w == works + MAX_WORKS)
		die("padata cancelled a work that it had not queued");
	w->cancelled = true;
	if (w->state == QUEUED)
		w->state = DONE;
	while (wait && w->state == RUNNING)
		pthread_cond_wait(&done, &lock);
	if (wait)
		w->state = FREE;
	pthread_mutex_unlock(&lock);
}

unsigned int threads_not_waited(void)
{
	unsigned int nr = 0;

	pthread_mutex_lock(&lock);
	for (struct work *w = works; w < works + MAX_WORKS; w++)
		nr += w->cancelled && w->state != FREE;
	pthread_mutex_unlock(&lock);
	return nr;
}
