// SPDX-License-Identifier: GPL-2.0
/* What a race needs: a clock, the limit, and how much memory there is. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __x86_64__
#include <emmintrin.h>
#endif

#include "userspace.h"

#define MAX_TAKES	20

void stay_on_cpu(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(sched_getcpu(), &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

double cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* What the hypervisor has taken from a CPU, or else from all of them, in ticks of 10 ms. */
static unsigned long stolen_ticks(int cpu)
{
	char name[16], times[256];
	unsigned long stolen;

	snprintf(name, sizeof(name), cpu < 0 ? "cpu " : "cpu%d ", cpu);
	proc_value("/proc/stat", name, times, sizeof(times));
	/* user nice system idle iowait irq softirq steal: proc_stat(5) */
	if (sscanf(times, "%*u %*u %*u %*u %*u %*u %*u %lu", &stolen) != 1)
		return 0;
	return stolen;
}

struct retakes retakes;

double wall_clock(unsigned int threads, void (*before)(void), void (*run)(void))
{
	struct timespec start, end;
	unsigned int takes = 0;
	unsigned long stolen;

	do {
		int used;

		before();
		used = threads > 1 ? -1 : sched_getcpu();
		stolen = stolen_ticks(used);
		clock_gettime(CLOCK_MONOTONIC, &start);
		run();
		clock_gettime(CLOCK_MONOTONIC, &end);
		stolen = stolen_ticks(used) - stolen;
	} while (++takes < MAX_TAKES && stolen);
	retakes.runs++;
	retakes.retaken += takes - 1;
	retakes.disturbed += !!stolen;
	return (end.tv_sec - start.tv_sec) * 1e9 + end.tv_nsec - start.tv_nsec;
}

#ifdef __x86_64__
static volatile unsigned long nr_steps;

static void count_step(int signal)
{
	nr_steps++;
}

unsigned long count_instructions(void (*run)(void))
{
	const struct sigaction action = { .sa_handler = count_step };

	sigaction(SIGTRAP, &action, NULL);
	nr_steps = 0;
	/* The trap flag: SIGTRAP behind each instruction. */
	asm volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
	run();
	asm volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
	return nr_steps;
}
#endif

void proc_value(const char *path, const char *key, char *value, size_t size)
{
	char line[256];
	FILE *file = fopen(path, "r");

	*value = 0;
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, key, strlen(key))) {
			snprintf(value, size, "%s", line + strlen(key));
			break;
		}
	if (file)
		fclose(file);
}

void stream(unsigned char *start, unsigned long bytes)
{
#ifdef __x86_64__
	long long *end = (long long *)(start + bytes);

	for (long long *p = (long long *)start; p < end; p += 8)
#pragma GCC unroll 8
		for (int i = 0; i < 8; i++)
			_mm_stream_si64(p + i, i + 1);
#else
	memset(start, 1, bytes);
#endif
}

void stream_end(void)
{
#ifdef __x86_64__
	_mm_sfence();
#endif
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double median(double *values, unsigned int n)
{
	qsort(values, n, sizeof(*values), ascending);
	return (values[n / 2] + values[(n - 1) / 2]) / 2;
}

unsigned long fitting_gib(unsigned long wanted, unsigned long share, unsigned long whole)
{
	unsigned long gib = wanted, room;
	char kib[64];

	proc_value("/proc/meminfo", "MemAvailable:", kib, sizeof(kib));
	room = strtoul(kib, NULL, 10) / 4 * 3 * 1024;
	while (gib > 1 && gib * GIB / whole * share > room)
		gib /= 2;
	if (gib != wanted)
		fprintf(stderr, "%lu GiB instead of %lu GiB: more do not fit\n", gib, wanted);
	return gib;
}
