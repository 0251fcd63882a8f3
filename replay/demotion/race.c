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
				   (kib) ? 512 * 1024 / (kib) : MAX_ROUNDS)
#define MAX_BATCHES	MAX_ROUNDS

static const unsigned int orders[] = { 0, 4, 9 };
#define NR_ORDERS	(sizeof(orders) / sizeof(*orders))
/* KiB of the other data; 0: the copies themselves are read. */
static const unsigned long others[] = { 32, 256, 1024, 2048, 4096, 16384, 65536, 262144, 0 };
#define NR_OTHERS	(sizeof(others) / sizeof(*others))

/* Medians of a round's batches: ns per page copied, ns per line read. */
static double copied[NR_ORDERS][NR_OTHERS][MAX_KERNELS][MAX_ROUNDS];
static double reread[NR_ORDERS][NR_OTHERS][MAX_KERNELS][MAX_ROUNDS];

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

static void run_round(unsigned int order, unsigned int size, unsigned int runner,
		      unsigned int round)
{
	const struct demotion_side *side = demotion_side(&kernels[runner]);
	unsigned long pages = BATCH_PAGES(orders[order]), folios = pages >> orders[order];
	unsigned long batches = BATCHES(orders[order], others[size]);
	double copy[MAX_BATCHES], read[MAX_BATCHES];
	struct demotion_case c[MAX_BATCH];

	use_kernel(&kernels[runner]);
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
	copied[order][size][runner][round] = summarise(copy, batches).median;
	reread[order][size][runner][round] = summarise(read, batches).median;
}

static void print_row(unsigned int order, unsigned int size, unsigned int rounds)
{
	double (*copy)[MAX_ROUNDS] = copied[order][size], (*read)[MAX_ROUNDS] = reread[order][size];

	if (others[size])
		printf("%5u %7lu KiB", orders[order], others[size]);
	else
		printf("%5u  the copies", orders[order]);
	for (unsigned int i = 0; i < nr_kernels; i++)
		printf("  %7.0f", summarise(copy[i], rounds).median);
	printf("  %6.2fx", median_ratio(copy[0], copy[1], rounds));
	for (unsigned int i = 0; i < nr_kernels; i++)
		printf("  %7.2f", summarise(read[i], rounds).median);
	printf("  %6.2fx\n", median_ratio(read[0], read[1], rounds));
	fflush(stdout);
}

static void write_json(FILE *json, const char *cpu, unsigned int rounds)
{
	fprintf(json, "{\"cpu\": \"%s\",\n\"unit\": \"ns of CPU time: copy per page of 4 KiB, "
		"read per line of 64 bytes\",\n\"gib\": %lu,\n\"results\": [",
		cpu, 2 * half * PAGE / GIB);
	for (unsigned int order = 0; order < NR_ORDERS; order++)
		for (unsigned int size = 0; size < NR_OTHERS; size++) {
			fprintf(json, "%s\n{\"order\": %u, \"other_kib\": %lu",
				order || size ? "," : "", orders[order], others[size]);
			for (unsigned int i = 0; i < 2; i++) {
				fprintf(json, ", \"%s\": {", i ? "read" : "copy");
				for (unsigned int k = 0; k < nr_kernels; k++) {
					write_list(json, kernels[k].name,
						   (i ? reread : copied)[order][size][k], rounds);
					fprintf(json, k + 1 < nr_kernels ? ", " : "}");
				}
			}
			fprintf(json, "}");
		}
	fprintf(json, "]}\n");
	if (fclose(json))
		die("cannot write the samples: is the disk full?");
}

/* The largest of @gib, a half of it... that fits into memory with the other data. */
static unsigned long fitting(unsigned long gib)
{
	unsigned long wanted = gib;
	char kib[64];

	proc_value("/proc/meminfo", "MemAvailable", kib, sizeof(kib));
	while (gib > 1 && gib * GIB > strtoul(kib, NULL, 10) / 4 * 3 * 1024)
		gib /= 2;
	if (gib != wanted)
		printf("%lu GiB instead of %lu GiB: more do not fit\n", gib, wanted);
	return gib;
}

int race_copies(unsigned long gib, unsigned int rounds, const char *file)
{
	FILE *json = file ? fopen(file, "w") : NULL;
	char cpu[128];

	if (file && !json)
		die("cannot write %s: choose another file", file);
	if (nr_kernels < 2)
		die("a race needs two kernels");
	gib = fitting(gib);
	half = gib * GIB / PAGE / 2;
	memory_open(2 * half);
	memory_catch();
	stay_on_cpu();
	cpu_name(cpu, sizeof(cpu));
	for (uint64_t *word = (uint64_t *)data(0); word < (uint64_t *)data(half); word++)
		*word = next_random(&seed);
	memset(data(half), 1, half * PAGE);
	other = aligned_alloc(2 * MIB, others[NR_OTHERS - 2] * 1024);
	if (!other)
		die("out of memory for the other data");
	memset(other, 1, others[NR_OTHERS - 2] * 1024);
	printf("%s; folios in %lu GiB, %lu MiB in each of %u rounds\n"
	       "CPU time in ns, medians: copy per page, read again per line\n"
	       "order  other data", cpu, gib, 64UL, rounds);
	for (unsigned int i = 0; i < 2; i++) {
		for (unsigned int k = 0; k < nr_kernels; k++)
			printf("  %7s", kernels[k].name);
		printf("    ratio");
	}
	printf("\n");
	crash_context = "race";
	for (unsigned int order = 0; order < NR_ORDERS; order++)
		for (unsigned int size = 0; size < NR_OTHERS; size++) {
			/* Whatever drifts must not always hit the same one: rotate. */
			for (unsigned int round = 0; round < rounds; round++)
				for (unsigned int i = 0; i < nr_kernels; i++)
					run_round(order, size, (i + round) % nr_kernels, round);
			print_row(order, size, rounds);
		}
	if (json)
		write_json(json, cpu, rounds);
	return 0;
}
