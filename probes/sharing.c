// SPDX-License-Identifier: GPL-2.0
/*
 * Do two CPUs share a core, or only the way to memory?
 *
 * One or two threads, on a CPU each, stream into memory by MOVNTI, or run a loop
 * that touches no memory. If the CPUs are one core, each loop is as slow beside the
 * other as it is fast alone; if they share the way to memory only, the loops do not
 * feel each other. Each round does all of it, because a hypervisor can move CPUs;
 * rounds are told apart by what the second stream gains. x86-64, two CPUs, 512 MiB.
 */
#define _GNU_SOURCE
#include <err.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define MIB		(1UL << 20)
#define BYTES		(256 * MIB)	/* of a stream, far more than a cache */
#define STEP		(1 * MIB)
#define PHASE		20000000L	/* ns */
#define ROUNDS		400
#define NONE		1.15		/* below that, the second stream gains nothing */

enum work { IDLE, LOOP, STREAM };

/* What the threads do in a phase, in turn. */
static const enum work phases[][2] = {
	{ STREAM, IDLE }, { STREAM, STREAM }, { IDLE, LOOP }, { LOOP, LOOP }, { STREAM, LOOP },
};

#define NR_PHASES	(sizeof(phases) / sizeof(*phases))

static cpu_set_t allowed;
static pthread_barrier_t barrier;
static double rates[ROUNDS][NR_PHASES][2];	/* per ns of CPU time */
static char *memory[2];

static void pin(int nth)
{
	cpu_set_t one;
	int cpu;

	for (cpu = 0; !CPU_ISSET(cpu, &allowed) || nth--; cpu++)
		;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
}

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Eight chains that do not depend on each other keep a core's adders busy. */
static void loop(void)
{
	for (int i = 0; i < 2000; i++)
		asm volatile(".rept 16\n"
			     "add $1, %%rax; add $1, %%rcx; add $1, %%rdx; add $1, %%rsi\n"
			     "add $1, %%r8; add $1, %%r9; add $1, %%r10; add $1, %%r11\n"
			     ".endr\n"
			     ::: "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11");
}

static void stream(char *start)
{
	for (char *to = start; to < start + STEP; to += 8)
		asm volatile("movnti %1, %0" : "=m" (*(uint64_t *)to) : "r" (0UL));
	asm volatile("sfence" ::: "memory");
}

/* Until the clock says @until: how much per ns of the thread's CPU time. */
static double work(enum work what, char *to, double until)
{
	static _Thread_local unsigned long offset;
	double start = now(CLOCK_THREAD_CPUTIME_ID), done = 0;

	while (now(CLOCK_MONOTONIC) < until) {
		if (what == LOOP) {
			loop();
			done++;
		} else {
			stream(to + offset);
			offset = (offset + STEP) % BYTES;
			done += STEP;
		}
	}
	return done / (now(CLOCK_THREAD_CPUTIME_ID) - start);
}

static void *run(void *arg)
{
	long me = (long)arg;

	pin(me);
	memset(memory[me], 1, BYTES);
	for (int round = 0; round < ROUNDS; round++) {
		for (unsigned int phase = 0; phase < NR_PHASES; phase++) {
			enum work what = phases[phase][me];

			pthread_barrier_wait(&barrier);
			if (what != IDLE)
				rates[round][phase][me] =
					work(what, memory[me], now(CLOCK_MONOTONIC) + PHASE);
		}
	}
	return NULL;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* What both streams move per ns, of what one moves. */
static double gain(int round)
{
	return (rates[round][1][0] + rates[round][1][1]) / rates[round][0][0];
}

/* How fast a loop is in @phase, of what it is alone: the median of one kind of round. */
static double median(unsigned int phase, bool gains)
{
	double found[ROUNDS];
	int nr = 0;

	for (int round = 0; round < ROUNDS; round++)
		if ((gain(round) >= NONE) == gains)
			found[nr++] = rates[round][phase][1] / rates[round][2][1];
	qsort(found, nr, sizeof(*found), compare);
	return found[nr / 2];
}

int main(void)
{
	double gained[ROUNDS];
	int count[2] = { 0 };
	pthread_t other;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	if (CPU_COUNT(&allowed) < 2)
		errx(1, "this needs two CPUs");
	for (int i = 0; i < 2; i++) {
		memory[i] = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory[i] == MAP_FAILED)
			err(1, "mmap");
		madvise(memory[i], BYTES, MADV_HUGEPAGE);
	}
	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&other, NULL, run, (void *)1L))
		errx(1, "cannot start a thread");
	run((void *)0L);
	pthread_join(other, NULL);

	for (int round = 0; round < ROUNDS; round++)
		count[(gained[round] = gain(round)) >= NONE]++;
	qsort(gained, ROUNDS, sizeof(*gained), compare);
	printf("two streams move %.2fx of one, from %.2fx to %.2fx\n",
	       gained[ROUNDS / 2], gained[0], gained[ROUNDS - 1]);
	for (int gains = 0; gains < 2; gains++) {
		if (!count[gains])
			continue;
		printf("%s %.2fx in %d of %d rounds: there a loop runs at %.2fx of alone ",
		       gains ? "at least" : "less than", NONE, count[gains], ROUNDS,
		       median(3, gains));
		printf("beside a loop, at %.2fx beside a stream\n", median(4, gains));
	}
	if (count[0] < ROUNDS / 20)
		puts("the second stream gains: nothing to explain");
	else if (median(3, false) < 0.75)
		puts("where the second stream gains nothing, both CPUs are one core");
	else
		puts("where the second stream gains nothing, the way to memory is full");
	return 0;
}
