// SPDX-License-Identifier: GPL-2.0
/*
 * Speed of one thread: every kernel and, as the limit, a bare non-temporal fill of
 * the same bytes, in turn over the same memory.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "userspace.h"

#define START_PFN	(1UL << 20)	/* 4 GiB: aligned to every order */

struct raced_device device;
struct replay_case call;

void read_orders(const char *text)
{
	while (*text) {
		char *end;
		unsigned long order = strtoul(text, &end, 10);
		bool deduplicated = *end == 'd';

		if (end == text || order > layout->max_order || device.nr_orders == MAX_ORDERS)
			die("ORDERS is a list such as 0,9,9d: at most %d, each up to %u",
			    MAX_ORDERS, layout->max_order);
		if (deduplicated && (1UL << order) <= layout->dedup_pages)
			die("order %lu has no deduplicated memmap: that needs more than %u pages",
			    order, layout->dedup_pages);
		device.deduplicated[device.nr_orders] = deduplicated;
		device.orders[device.nr_orders++] = order;
		text = end + deduplicated;
		text += *text == ',';
	}
}

/* Of so many struct pages, those that are written at the order of a row */
static unsigned long written(unsigned long pages, unsigned int row)
{
	return device.deduplicated[row] ?
	       (pages >> device.orders[row]) * layout->dedup_pages : pages;
}

void open_device(void)
{
	unsigned long gib = (device.mib + 1023) / 1024, pages = GIB >> layout->page_shift;
	unsigned long most = 0, fitting;

	for (unsigned int row = 0; row < device.nr_orders; row++)
		if (written(pages, row) > most)
			most = written(pages, row);
	fitting = fitting_gib(gib, most * layout->page_struct_size, GIB);
	if (fitting != gib)
		device.mib = fitting * 1024;
	stay_on_cpu();
	window_open((device.mib * MIB >> layout->page_shift) * layout->page_struct_size);
	window_place(START_PFN);
}

void start_device(unsigned int row)
{
	unsigned long bytes;

	call = (struct replay_case) {
		.start_pfn = START_PFN,
		.nr_pages = device.mib * MIB >> layout->page_shift,
		.order = device.orders[row],
		.altmap = !device.deduplicated[row],
	};
	/* Mapped anew: the kernel maps a deduplicated memmap with base pages. */
	bytes = call.nr_pages * layout->page_struct_size;
	madvise(entry(START_PFN), bytes, call.altmap ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	madvise(entry(START_PFN), bytes, MADV_DONTNEED);
}

/* What the kernels write from page @start to @end: all, or the first of each compound page. */
static void pass_written(unsigned long start, unsigned long end,
			 void (*pass)(unsigned char *start, unsigned long bytes))
{
	unsigned long size = layout->page_struct_size;

	if (call.altmap)
		pass(entry(call.start_pfn + start), (end - start) * size);
	else
		for (; start < end; start += 1UL << call.order)
			pass(entry(call.start_pfn + start), layout->dedup_pages * size);
}

void fill_memmap(unsigned long start, unsigned long end)
{
	pass_written(start, end, stream);
	stream_end();
}

static void time_one(unsigned int row, unsigned int runner, double *figures)
{
	double start;

	/* Every run starts alike, with none of the memmap in a cache. */
	fill_memmap(0, call.nr_pages);
	start = cpu_time();
	if (runner == nr_kernels) {
		fill_memmap(0, call.nr_pages);
	} else {
		kernels[runner].side->prepare(&call);
		kernels[runner].side->bind(call.start_pfn, call.nr_pages);
	}
	*figures = (cpu_time() - start) / written(call.nr_pages, row);
}

static void write_row(FILE *json, unsigned int row)
{
	fprintf(json, "\"device_gib\": %lu, \"order\": %u, \"deduplicated\": %s, \"pages\": %lu, ",
		device.mib / 1024, device.orders[row], device.deduplicated[row] ? "true" : "false",
		written(call.nr_pages, row));
}

int race_device(int nr, char **words)
{
	struct race race = {
		.unit = "ns of CPU time per struct page",
		.nr_runners = nr_kernels + 1,
		.figures = { "samples" },
		.name_runner = name_kernel,
		.start_row = start_device,
		.write_row = write_row,
		.time_one = time_one,
	};

	device.mib = read_within(nr, words, 0, 16, 65536, "a device has GiB:") * 1024;
	read_orders(nr > 1 ? words[1] : "0,9,18,9d,18d");
	race.nr_rows = device.nr_orders;
	open_device();
	return run_race(&race, nr - 2, words + 2);
}

/* Struct pages that are written: 64 KiB to 64 MiB of them */
static const unsigned long touch_pages[] = {
	1 << 10, 1 << 12, 1 << 14, 1 << 15, 1 << 16, 1 << 17, 1 << 18, 1 << 20
};

#define NR_SIZES	(sizeof(touch_pages) / sizeof(*touch_pages))
/* A sample is the median of so many runs that they write 32 MiB, at least of one. */
#define REPEATS(pages)	((1UL << 19) / (pages) ?: 1)
#define MAX_REPEATS	(1 << 9)
#define ORDER_OF(row)	((row) / 2 / NR_SIZES)
#define PAGES_OF(row)	touch_pages[(row) / 2 % NR_SIZES]
#define ZEROED(row)	((row) % 2)

/* As the allocator does with init_on_alloc=1 */
static void zero(unsigned char *start, unsigned long bytes)
{
	unsigned long page = 1UL << layout->page_shift;

	for (; bytes; bytes -= page, start += page)
		memset(start, 0, page);
}

/* As a driver does that sets zone_device_data */
static void touch(unsigned char *start, unsigned long bytes)
{
	unsigned long size = layout->page_struct_size;

	for (unsigned char *end = start + bytes; start < end; start += size)
		*(volatile uint64_t *)(start + 2 * sizeof(uint64_t)) = 1;
}

static void start_touch(unsigned int row)
{
	unsigned int order = ORDER_OF(row);
	unsigned long pages = PAGES_OF(row);

	if (device.deduplicated[order])
		pages = pages / layout->dedup_pages << device.orders[order];
	device.mib = (pages << layout->page_shift) / MIB;
	start_device(order);
}

static void time_touch(unsigned int row, unsigned int runner, double *figures)
{
	const struct replay_side *side = kernels[runner].side;
	unsigned long pages = PAGES_OF(row), repeats = REPEATS(pages);
	double fill[MAX_REPEATS], touched[MAX_REPEATS];

	for (unsigned long i = 0; i < repeats; i++) {
		double start;

		/* Every run starts alike, with none of the memmap in a cache, or what fits. */
		if (ZEROED(row))
			pass_written(0, call.nr_pages, zero);
		else
			fill_memmap(0, call.nr_pages);
		side->prepare(&call);
		start = cpu_time();
		side->bind(call.start_pfn, call.nr_pages);
		fill[i] = (cpu_time() - start) / pages;
		pass_written(0, call.nr_pages, touch);
		touched[i] = (cpu_time() - start) / pages;
	}
	figures[0] = median(fill, repeats);
	figures[1] = median(touched, repeats);
}

static void write_touch(FILE *json, unsigned int row)
{
	fprintf(json, "\"order\": %u, \"deduplicated\": %s, \"pages\": %lu, \"zeroed\": %s, ",
		device.orders[ORDER_OF(row)],
		device.deduplicated[ORDER_OF(row)] ? "true" : "false", PAGES_OF(row),
		ZEROED(row) ? "true" : "false");
}

int race_touch(int nr, char **words)
{
	struct race race = {
		.unit = "ns of CPU time per struct page",
		.nr_runners = nr_kernels,
		.figures = { "fill", "touched" },
		.name_runner = name_kernel,
		.start_row = start_touch,
		.write_row = write_touch,
		.time_one = time_touch,
	};

	device.mib = 64 * 1024;
	read_orders(nr > 0 ? words[0] : "0,9,9d");
	race.nr_rows = device.nr_orders * NR_SIZES * 2;
	open_device();
	return run_race(&race, nr - 1, words + 1);
}
