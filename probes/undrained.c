// SPDX-License-Identifier: GPL-2.0
/*
 * Does a plain store overtake MOVNTI on this CPU?
 *
 * One thread writes a payload by MOVNTI and then a flag by a plain store; the
 * other, on another CPU, waits for the flag and reads the payload. Done without
 * and with SFENCE in between. x86-64, two CPUs.
 */
#define _GNU_SOURCE
#include <err.h>
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS	72
#define ROUNDS	2000000

static struct {
	alignas(64) uint64_t payload[WORDS];
	alignas(64) volatile uint64_t flag;
	alignas(64) volatile uint64_t seen;
} shared;

static long stale;

/* Bind the calling thread to the nth CPU of those that the process may use. */
static void pin(const cpu_set_t *allowed, int nth)
{
	cpu_set_t one;
	int cpu;

	for (cpu = 0; !CPU_ISSET(cpu, allowed) || nth--; cpu++)
		;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
}

static void *reader(void *allowed)
{
	volatile uint64_t *payload = shared.payload;
	uint64_t last = 0, flag;

	pin(allowed, 1);
	while ((flag = shared.flag) != UINT64_MAX) {
		if (flag == last)
			continue;
		for (int i = WORDS - 1; i >= 0; i--) {
			if (payload[i] != flag) {
				stale++;
				break;
			}
		}
		last = flag;
		shared.seen = flag;
	}
	return NULL;
}

static void run(cpu_set_t *allowed, int drain)
{
	pthread_t thread;

	stale = 0;
	shared.flag = 0;
	shared.seen = 0;
	pthread_create(&thread, NULL, reader, allowed);
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		for (int i = 0; i < WORDS; i++)
			asm volatile("movntiq %1, %0" : "=m" (shared.payload[i]) : "r" (round));
		if (drain)
			asm volatile("sfence" : : : "memory");
		asm volatile("" : : : "memory");
		shared.flag = round;
		while (shared.seen != round)
			;
	}
	shared.flag = UINT64_MAX;
	pthread_join(thread, NULL);
	printf("%-14s stale words read in %ld of %d rounds\n",
	       drain ? "with SFENCE:" : "without:", stale, ROUNDS);
}

int main(void)
{
	cpu_set_t allowed;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	if (CPU_COUNT(&allowed) < 2)
		errx(1, "this needs two CPUs");
	pin(&allowed, 0);
	run(&allowed, 0);
	run(&allowed, 1);
	return 0;
}
