// SPDX-License-Identifier: GPL-2.0
/* What a race needs: a clock, the limit, and the statistics of samples. */
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

double cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

unsigned long stolen_ticks(int cpu)
{
	char name[16], times[256];
	unsigned long stolen;

	snprintf(name, sizeof(name), cpu == ALL_CPUS ? "cpu " : "cpu%d ", cpu);
	proc_value("/proc/stat", name, times, sizeof(times));
	/* user nice system idle iowait irq softirq steal: proc_stat(5) */
	if (sscanf(times, "%*u %*u %*u %*u %*u %*u %*u %lu", &stolen) != 1)
		return 0;
	return stolen;
}

void stream(unsigned char *start, unsigned long bytes)
{
#ifdef __x86_64__
	long long *end = (long long *)(start + bytes);

	for (long long *p = (long long *)start; p < end; p += 8) {
		_mm_stream_si64(p, 1);
		_mm_stream_si64(p + 1, 2);
		_mm_stream_si64(p + 2, 3);
		_mm_stream_si64(p + 3, 4);
		_mm_stream_si64(p + 4, 5);
		_mm_stream_si64(p + 5, 6);
		_mm_stream_si64(p + 6, 7);
		_mm_stream_si64(p + 7, 8);
	}
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

struct summary summarise(const double *values, unsigned int n)
{
	double v[MAX_ROUNDS];

	memcpy(v, values, n * sizeof(*v));
	qsort(v, n, sizeof(*v), ascending);
	return (struct summary) {
		v[n / 4], (v[n / 2] + v[(n - 1) / 2]) / 2, v[n - 1 - n / 4],
	};
}

double median_ratio(const double *over, const double *under, unsigned int n)
{
	double quotient[MAX_ROUNDS];

	for (unsigned int i = 0; i < n; i++)
		quotient[i] = over[i] / under[i];
	return summarise(quotient, n).median;
}

void write_list(FILE *json, const char *name, const double *values, unsigned int n)
{
	fprintf(json, "\"%s\": [", name);
	for (unsigned int i = 0; i < n; i++)
		fprintf(json, "%s%.4f", i ? ", " : "", values[i]);
	fprintf(json, "]");
}

unsigned long fitting_gib(unsigned long wanted)
{
	unsigned long gib = wanted, room;
	char kib[64];

	proc_value("/proc/meminfo", "MemAvailable", kib, sizeof(kib));
	room = strtoul(kib, NULL, 10) / 4 * 3 * 1024;
	while (gib > 1 && (gib * GIB >> layout->page_shift) * layout->page_struct_size > room)
		gib /= 2;
	if (gib != wanted)
		printf("%lu MiB of memory can be used: %lu GiB instead of %lu GiB\n",
		       room / MIB, gib, wanted);
	return gib;
}

FILE *open_samples(const char *file)
{
	FILE *json = fopen(file, "w");

	if (!json)
		die("cannot write %s: choose another file", file);
	return json;
}

void close_samples(FILE *json)
{
	if (fclose(json))
		die("cannot write the samples: is the disk full?");
}
