// SPDX-License-Identifier: GPL-2.0
/* Clocks, CPUs, and what the system tells. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host.h"

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

void read_value(const char *path, const char *key, char *value, size_t size)
{
	FILE *file = fopen(path, "r");
	static char line[16384];

	*value = 0;
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, key, strlen(key))) {
			snprintf(value, size, "%s", line + strlen(key));
			value[strcspn(value, "\n")] = 0;
			break;
		}
	if (file)
		fclose(file);
}

unsigned long free_memory(void)
{
	char kib[64];

	read_value("/proc/meminfo", "MemAvailable:", kib, sizeof(kib));
	return strtoul(kib, NULL, 10) * 1024;
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
