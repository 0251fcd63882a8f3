// SPDX-License-Identifier: GPL-2.0
/* What a race needs: a clock, the limit, and how much memory there is. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __x86_64__
#include <emmintrin.h>
#endif

#include "userspace.h"

void stay_on_cpu(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(sched_getcpu(), &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

static double read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

double cpu_time(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

double wall_time(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

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
