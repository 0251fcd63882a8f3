// SPDX-License-Identifier: GPL-2.0
/*
 * What does streaming cost those who touch the memory right afterwards?
 *
 * Fill memory of several sizes by plain 8-byte stores and by MOVNTI, then write
 * one word of each 64 bytes. Medians in microseconds of CPU time. x86-64.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS	201

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1e6 + ts.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v)
{
	qsort(v, ROUNDS, sizeof(*v), compare);
	return v[ROUNDS / 2];
}

static void fill_plain(volatile uint64_t *line, const volatile uint64_t *end, uint64_t value)
{
	for (; line < end; line += 8) {
		line[0] = value;
		line[1] = value;
		line[2] = value;
		line[3] = value;
		line[4] = value;
		line[5] = value;
		line[6] = value;
		line[7] = value;
	}
}

static void fill_movnti(uint64_t *line, const uint64_t *end, uint64_t value)
{
	for (; line < end; line += 8)
		asm volatile("movntiq %1,   (%0)\n\tmovntiq %1,  8(%0)\n\t"
			     "movntiq %1, 16(%0)\n\tmovntiq %1, 24(%0)\n\t"
			     "movntiq %1, 32(%0)\n\tmovntiq %1, 40(%0)\n\t"
			     "movntiq %1, 48(%0)\n\tmovntiq %1, 56(%0)"
			     : : "r" (line), "r" (value) : "memory");
	asm volatile("sfence" : : : "memory");
}

static void measure(size_t mib)
{
	static double fill[2][ROUNDS], pass[2][ROUNDS];
	size_t words = (mib << 20) / sizeof(uint64_t);
	volatile uint64_t *pass_over;
	uint64_t *memory;

	memory = aligned_alloc(2 << 20, words * sizeof(*memory));
	if (!memory) {
		fprintf(stderr, "touched: cannot allocate %zu MiB\n", mib);
		exit(1);
	}
	memset(memory, 1, words * sizeof(*memory));
	pass_over = memory;

	for (int round = 0; round < ROUNDS; round++) {
		for (int nt = 0; nt < 2; nt++) {
			double start = now_us(), filled;

			if (nt)
				fill_movnti(memory, memory + words, round);
			else
				fill_plain(memory, memory + words, round);
			filled = now_us();
			for (size_t i = 1; i < words; i += 8)
				pass_over[i] = round;
			fill[nt][round] = filled - start;
			pass[nt][round] = now_us() - filled;
		}
	}
	printf("%4zu MiB   plain: %8.1f + %8.1f   MOVNTI: %8.1f + %8.1f\n", mib,
	       median(fill[0]), median(pass[0]), median(fill[1]), median(pass[1]));
	free(memory);
}

int main(void)
{
	static const size_t sizes[] = { 2, 8, 16, 64, 256 };

	puts("fill + pass over it, in us");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		measure(sizes[i]);
	return 0;
}
