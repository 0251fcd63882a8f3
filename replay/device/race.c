// SPDX-License-Identifier: GPL-2.0
/*
 * Speed: every kernel and, as the limit, a bare non-temporal fill of the same
 * bytes, in turn over the same memory.
 */
#include <string.h>
#include <sys/mman.h>

#include "userspace.h"

#define START_PFN	(1UL << 20)	/* 4 GiB: aligned to every order */

struct device device;
static struct replay_case call;
static double first_touch[MAX_KERNELS + 1];

void read_orders(const char *text)
{
	char copy[64], *rest = copy, *part;

	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		die("\"%s\" is too long a list of orders", text);
	while ((part = strsep(&rest, ","))) {
		char *dash = strchr(part, '-'), *d = strchr(part, 'd');
		unsigned long first, last;

		if (dash)
			*dash = 0;
		if (d && !d[1])
			*d = 0;
		first = read_argument(part);
		last = dash ? read_argument(dash + 1) : first;
		if (last > layout->max_order || first > last)
			die("orders go from 0 to %u", layout->max_order);
		if (d && (1UL << first) <= layout->dedup_pages)
			die("order %lu has no deduplicated memmap: that needs more than %u pages",
			    first, layout->dedup_pages);
		for (; first <= last && device.nr_orders < MAX_ORDERS; first++) {
			device.deduplicated[device.nr_orders] = d;
			device.orders[device.nr_orders++] = first;
		}
	}
}

/* Bytes that are written for each GiB, at the order that has most. */
static unsigned long memmap_of_gib(void)
{
	unsigned long most = 0, pages;

	for (unsigned int i = 0; i < device.nr_orders; i++) {
		pages = GIB >> layout->page_shift;
		if (device.deduplicated[i])
			pages = (pages >> device.orders[i]) * layout->dedup_pages;
		if (pages > most)
			most = pages;
	}
	return most * layout->page_struct_size;
}

void open_device(void)
{
	unsigned long gib = (device.mib + 1023) / 1024;
	unsigned long fitting = fitting_gib(gib, memmap_of_gib(), GIB);

	if (fitting != gib)
		device.mib = fitting * 1024;
	stay_on_cpu();
	window_open((device.mib * MIB >> layout->page_shift) * layout->page_struct_size);
	window_place(START_PFN);
}

struct replay_case start_device(unsigned int row)
{
	struct replay_case c = {
		.start_pfn = START_PFN,
		.nr_pages = device.mib * MIB >> layout->page_shift,
		.order = device.orders[row],
		.type = type_value(device.orders[row] ? "generic" : "fs_dax"),
		.altmap = !device.deduplicated[row],
	};

	/* The kernel maps a deduplicated memmap with base pages. */
	madvise(entry(START_PFN), c.nr_pages * layout->page_struct_size,
		c.altmap ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	return c;
}

void fill_memmap(const struct replay_case *c, unsigned long start, unsigned long end)
{
	unsigned long size = layout->page_struct_size;

	if (c->altmap)
		stream(entry(c->start_pfn + start), (end - start) * size);
	else
		for (; start < end; start += 1UL << c->order)
			stream(entry(c->start_pfn + start), layout->dedup_pages * size);
	stream_end();
}

/* Struct pages that are written */
static unsigned long written(void)
{
	return call.altmap ? call.nr_pages : (call.nr_pages >> call.order) * layout->dedup_pages;
}

static double time_run(unsigned int runner)
{
	double start = cpu_time();

	if (runner == nr_kernels)
		fill_memmap(&call, 0, call.nr_pages);
	else
		case_run(kernels[runner].side, &call);
	return (cpu_time() - start) / written();
}

static void start_row(unsigned int row)
{
	call = start_device(row);
	if (row && device.deduplicated[row] == device.deduplicated[row - 1])
		return;
	/* The first row shows what the first touch of the memory costs. */
	for (unsigned int i = row ? nr_kernels : 0; i <= nr_kernels; i++) {
		crash_kernel = name_kernel(i);
		madvise(entry(START_PFN), call.nr_pages * layout->page_struct_size, MADV_DONTNEED);
		first_touch[i] = time_run(i);
	}
}

static void time_one(unsigned int row, unsigned int runner, double *figures)
{
	/* Every run starts alike, with none of the memmap in a cache. */
	fill_memmap(&call, 0, call.nr_pages);
	*figures = time_run(runner);
}

static void write_row(FILE *json, unsigned int row)
{
	fprintf(json, "\"device_gib\": %lu, \"order\": %u, \"deduplicated\": %s, \"pages\": %lu, ",
		device.mib / 1024, device.orders[row], device.deduplicated[row] ? "true" : "false",
		written());
	if (!row)
		fprintf(json, "\"first_touch\": {");
	for (unsigned int i = 0; !row && i <= nr_kernels; i++)
		fprintf(json, "\"%s\": %.4f%s", name_kernel(i), first_touch[i],
			i == nr_kernels ? "}, " : ", ");
}

int race_device(int nr, char **words)
{
	struct race race = {
		.unit = "ns of CPU time per struct page",
		.nr_runners = nr_kernels + 1,
		.rounds = read_rounds(nr, words, 2),
		.figures = { "samples" },
		.name_runner = name_kernel,
		.start_row = start_row,
		.write_row = write_row,
		.time_one = time_one,
	};

	device.mib = read_within(nr, words, 0, 16, 65536, "a device has GiB:") * 1024;
	read_orders(nr > 1 ? words[1] : "0-18");
	race.nr_rows = device.nr_orders;
	open_device();
	return run_race(&race, nr > 3 ? words[3] : NULL);
}
