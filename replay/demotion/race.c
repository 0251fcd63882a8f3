// SPDX-License-Identifier: GPL-2.0
/*
 * Speed: batches of folios in random order over several GiB, and how long it
 * takes to read other data again after each batch, for each size of that data.
 * The kernels take turns.
 */
#include <stdlib.h>
#include <string.h>

#include "userspace.h"

#define LINE		64UL
/* As reclaim demotes at once: SWAP_CLUSTER_MAX pages, or one larger folio. */
#define BATCH_PAGES(order)	((order) > 5 ? 1UL << (order) : 32UL)
#define MAX_BATCH	32		/* folios */
/* Up to 64 MiB are copied in a round, and up to 512 MiB read. */
#define BATCHES(order, kib) min_of(64 * MIB / PAGE / BATCH_PAGES(order), \
				   (kib) ? 512 * 1024 / (kib) : MAX_BATCHES)
#define MAX_BATCHES	1000

static const unsigned int orders[] = { 0, 4, 9 };
#define NR_ORDERS	(sizeof(orders) / sizeof(*orders))
/* KiB of the other data; 0: the copies themselves are read. */
static const unsigned long others[] = { 32, 256, 1024, 2048, 4096, 16384, 65536, 262144, 0 };
#define NR_OTHERS	(sizeof(others) / sizeof(*others))

static unsigned long min_of(unsigned long a, unsigned long b)
{
	return a < b ? a : b;
}

static unsigned long half;		/* pages to copy from, then as many to copy to */
static unsigned char *other;
static uint64_t seed = 1;

/* Each line once, in an order that no prefetcher follows: @bytes is a power of 2. */
static double read_lines(const unsigned char *start, unsigned long bytes)
{
	unsigned long lines = bytes / LINE, at = 0, sum = 0;
	double before = cpu_time();

	for (unsigned long i = 0; i < lines; i++) {
		at = (at * 5 + 1) & (lines - 1);
		sum += *(const volatile unsigned long *)(start + at * LINE);
	}
	return (cpu_time() - before) / lines;
}

/* The bytes of each copy that no later one of the batch has overwritten. */
static void verify(const struct kernel *kernel, const struct demotion_case *c, unsigned long folios)
{
	for (unsigned long i = 0; i < folios; i++) {
		unsigned long later = i + 1;

		while (later < folios && c[later].to != c[i].to)
			later++;
		if (later == folios && memcmp(data(c[i].to), data(c[i].from), PAGE << c[i].order))
			die("%s: wrong bytes in a folio of order %u", kernel->name, c[i].order);
	}
}

/* Medians of the batches: ns per page copied, ns per line read. */
static void time_one(unsigned int row, unsigned int runner, double *figures)
{
	unsigned int order = row / NR_OTHERS, size = row % NR_OTHERS;
	const struct demotion_side *side = demotion_side(&kernels[runner]);
	unsigned long pages = BATCH_PAGES(orders[order]), folios = pages >> orders[order];
	unsigned long batches = BATCHES(orders[order], others[size]);
	double copy[MAX_BATCHES], read[MAX_BATCHES];
	struct demotion_case c[MAX_BATCH];

	for (unsigned long batch = 0; batch < batches; batch++) {
		double start;

		for (unsigned long i = 0; i < folios; i++) {
			unsigned long slots = half >> orders[order];

			c[i] = (struct demotion_case) {
				.from = next_random(&seed) % slots << orders[order],
				.to = half + (next_random(&seed) % slots << orders[order]),
				.order = orders[order],
				.lower = 1,
			};
			side->prepare(&c[i]);
		}
		if (others[size])
			read_lines(other, others[size] * 1024);
		start = cpu_time();
		for (unsigned long i = 0; i < folios; i++)
			side->run(&c[i]);
		copy[batch] = (cpu_time() - start) / pages;
		read[batch] = 0;
		if (others[size])
			read[batch] = read_lines(other, others[size] * 1024);
		for (unsigned long i = 0; i < folios && !others[size]; i++)
			read[batch] += read_lines(data(c[i].to), PAGE << orders[order]) / folios;
		verify(&kernels[runner], c, folios);
	}
	figures[0] = median(copy, batches);
	figures[1] = median(read, batches);
}

static void write_row(FILE *json, unsigned int row)
{
	fprintf(json, "\"gib\": %lu, \"order\": %u, \"other_kib\": %lu, ", 2 * half * PAGE / GIB,
		orders[row / NR_OTHERS], others[row % NR_OTHERS]);
}

int race_copies(int nr, char **words)
{
	unsigned long gib = read_within(nr, words, 0, 4, 256, "a race takes GiB:");
	struct race race = {
		.unit = "ns of CPU time: copy per page of 4 KiB, read per line of 64 bytes",
		.nr_rows = NR_ORDERS * NR_OTHERS,
		.nr_runners = nr_kernels,
		.figures = { "copy", "read" },
		.name_runner = name_kernel,
		.write_row = write_row,
		.time_one = time_one,
	};

	half = fitting_gib(gib, 1, 1) * GIB / PAGE / 2;
	memory_open(2 * half);
	stay_on_cpu();
	fill_random(data(0), half * PAGE, seed);
	memset(data(half), 1, half * PAGE);
	other = aligned_alloc(2 * MIB, others[NR_OTHERS - 2] * 1024);
	if (!other)
		die("out of memory for the other data");
	memset(other, 1, others[NR_OTHERS - 2] * 1024);
	return run_race(&race, nr - 1, words + 1);
}
