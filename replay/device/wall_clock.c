// SPDX-License-Identifier: GPL-2.0
/*
 * Speed of several threads, by wall clock: the base, the series and the fill, the
 * last two with one thread and with more; or base and series that bind many small
 * devices, by one thread and by two.
 */
#include "userspace.h"

#define MAX_RUNNERS	32
#define LOT		8	/* of devices: what a thread takes at a time */

/*
 * What runs, with how many threads: in one device, or each in a device of its own.
 * SPLIT: in chunks as small as they can be.
 */
static struct runner {
	enum { BASE, SERIES, SPLIT, FILL } what;
	unsigned int threads;
	char name[32];
} runners[MAX_RUNNERS];
static unsigned int nr_runners, nr_cpus;
static unsigned long nr_devices = 1;
static unsigned long step;		/* pages of a piece */

static void fill_piece(unsigned long i)
{
	unsigned long start = i * step, end = start + step;

	fill_memmap(start, end > call.nr_pages ? call.nr_pages : end);
}

static void fill(unsigned int threads)
{
	step = ((call.nr_pages >> call.order) / (threads * PIECES) + 1) << call.order;
	threads_share(threads, (call.nr_pages + step - 1) / step, fill_piece);
}

static const struct replay_side *binding;

static void bind_lot(unsigned long lot)
{
	unsigned long pages = call.nr_pages / nr_devices;

	for (unsigned long i = lot * LOT; i < nr_devices && i < (lot + 1) * LOT; i++)
		binding->bind(call.start_pfn + i * pages, pages);
}

static void time_threads(unsigned int row, unsigned int runner, double *figures)
{
	const struct runner *r = &runners[runner];
	double start;

	/* Every run starts alike, with none of the memmap in a cache. */
	fill(nr_cpus);
	binding = kernels[r->what != BASE].side;
	if (r->what == SERIES || r->what == SPLIT)
		binding->set_cpus(nr_devices > 1 ? nr_cpus : r->threads, r->what == SPLIT);
	binding->prepare(&call);
	start = wall_time();
	if (r->what == FILL)
		fill(r->threads);
	else if (nr_devices > 1)
		threads_share(r->threads, (nr_devices + LOT - 1) / LOT, bind_lot);
	else
		binding->bind(call.start_pfn, call.nr_pages);
	*figures = (wall_time() - start) / 1e6;
}

static void add_runner(int what, unsigned int threads)
{
	static const char *const names[] = { "base", "series", "split", "fill" };
	struct runner *r = &runners[nr_runners++];

	r->what = what;
	r->threads = threads;
	snprintf(r->name, sizeof(r->name), "%s %u", names[what], threads);
}

/* 1, 2, 4... and all CPUs that the process may use */
static void list_runners(void)
{
	add_runner(BASE, 1);
	for (unsigned int n = 1; n < nr_cpus; n *= 2) {
		add_runner(SERIES, n);
		add_runner(FILL, n);
	}
	add_runner(SERIES, nr_cpus);
	add_runner(FILL, nr_cpus);
	add_runner(SPLIT, nr_cpus);
}

static const char *name_runner(unsigned int runner)
{
	return runners[runner].name;
}

static void write_threads(FILE *json, unsigned int row)
{
	fprintf(json, "\"devices\": %lu, \"device_mib\": %lu, \"order\": %u, "
		"\"deduplicated\": %s, \"cpus\": %u, ",
		nr_devices, device.mib / nr_devices, device.orders[row],
		device.deduplicated[row] ? "true" : "false", nr_cpus);
}

static int run_by_wall_clock(int nr, char **words)
{
	struct race race = {
		.unit = "ms of wall clock",
		.nr_rows = device.nr_orders,
		.nr_runners = nr_runners,
		.figures = { "samples" },
		.name_runner = name_runner,
		.start_row = start_device,
		.write_row = write_threads,
		.time_one = time_threads,
	};

	return run_race(&race, nr, words);
}

int race_threads(int nr, char **words)
{
	device.mib = read_word(nr, words, 0, 16384);
	if (device.mib < 128 || device.mib > 65536 << 10)
		die("a device has 128 MiB to 65536 GiB");
	read_orders(nr > 1 ? words[1] : "0,9");
	nr_cpus = threads_start_all();
	list_runners();
	open_device();
	return run_by_wall_clock(nr - 2, words + 2);
}

int race_devices(int nr, char **words)
{
	unsigned long devices = read_within(nr, words, 0, 1000, 65536, "devices:");
	unsigned long mib = read_within(nr, words, 1, 1024, 1 << 20, "a device has MiB:");
	unsigned long pages = mib * MIB >> layout->page_shift;

	if (devices < 2 || devices * mib > 65536 << 10)
		die("there are 2 devices or more, of 65536 GiB in all");
	read_orders(nr > 2 ? words[2] : "9d,18d");
	for (unsigned int i = 0; i < device.nr_orders; i++)
		if (!device.deduplicated[i] || pages % (1UL << device.orders[i]))
			die("small devices have whole compound pages and are deduplicated: 9d,18d");
	device.mib = devices * mib;
	nr_cpus = threads_start_all();
	open_device();
	nr_devices = device.mib / mib;
	device.mib = nr_devices * mib;
	for (unsigned int threads = 1; threads <= 2; threads++) {
		add_runner(BASE, threads);
		add_runner(SERIES, threads);
	}
	return run_by_wall_clock(nr - 3, words + 3);
}
