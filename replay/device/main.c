// SPDX-License-Identifier: GPL-2.0
/* The commands of the device replay. */
#include <string.h>

#include "userspace.h"

const char usage[] =
"usage: replay matrix                        compare the memmaps byte for byte\n"
"       replay random [CASES [SEED]]         the same for random cases\n"
"       replay case KEY=VALUE,...            compare one case, as printed by the others\n"
"       replay race [GIB [ORDERS [ROUNDS [JSON]]]]\n"
"                                            time a device of GIB GiB, 0-18 or 0,9,9d,\n"
"                                            where d stands for a deduplicated memmap;\n"
"                                            the samples go to the file JSON\n"
"       replay parallel [MIB [ORDERS [ROUNDS [JSON]]]]\n"
"                                            time a device of MIB MiB by wall clock, with\n"
"                                            one thread and with more of them\n"
"       replay devices [N [MIB [ORDERS [ROUNDS [JSON]]]]]\n"
"                                            time N devices of MIB MiB by wall clock, one\n"
"                                            after another and two at once\n"
"       replay beside COMMAND...             compare two devices that are bound at once\n"
"       replay threads N COMMAND...          compare with N CPUs and the smallest chunks\n"
"       replay idle N COMMAND...             the same, but no helper starts\n"
"       replay info                          the kernels and their struct page\n";

DECLARE_SIDE(replay_side, base);
DECLARE_SIDE(replay_side, series);
DECLARE_SIDE(replay_side, fallback);
DECLARE_SIDE(replay_side, peer);

/* Reads "0-18" or "0,9,9d". */
static void read_orders(const char *text)
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

static int run_device_race(int nr, char **words)
{
	unsigned long gib = read_within(nr, words, 0, 16, 65536, "a device has GiB:");

	read_orders(nr > 1 ? words[1] : "0-18");
	device.mib = gib * 1024;
	return race_device(read_within(nr, words, 2, 15, MAX_ROUNDS, "rounds:"),
			   nr > 3 ? words[3] : NULL);
}

static int run_parallel(int nr, char **words)
{
	device.mib = read_word(nr, words, 0, 16384);
	if (device.mib < 128 || device.mib > 65536 << 10)
		die("a device has 128 MiB to 65536 GiB");
	read_orders(nr > 1 ? words[1] : "0,9");
	return race_threads(read_within(nr, words, 2, 15, MAX_ROUNDS, "rounds:"),
			    nr > 3 ? words[3] : NULL);
}

static int run_devices(int nr, char **words)
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
	return race_devices(devices, read_within(nr, words, 3, 15, MAX_ROUNDS, "rounds:"),
			    nr > 4 ? words[4] : NULL);
}

unsigned int nr_threads = 1;

/* With more than one, every kernel but the base splits its ranges as much as it can. */
static void use_threads(unsigned long nr)
{
	for (unsigned int i = 1; i < nr_kernels; i++)
		kernels[i].side->set_cpus(nr, nr > 1);
	nr_threads = nr;
}

/* "threads" or "idle", then a command */
static int run_threads(int nr, char **words)
{
	use_threads(read_within(nr, words, 0, 0, 64, "threads:"));
	if (!strcmp(words[-1], "threads"))
		threads_start(nr_threads - 1);
	return run_command(nr - 1, words + 1);
}

static int run_beside(int nr, char **words)
{
	beside = true;
	threads_start(1);
	return run_command(nr, words);
}

static int run_matrix(int nr, char **words)
{
	return check_matrix();
}

static int run_random(int nr, char **words)
{
	return check_random(read_word(nr, words, 0, 20000), read_word(nr, words, 1, 1));
}

static int run_case(int nr, char **words)
{
	const char *text = nr ? words[0] : "";
	struct replay_case c = case_read(text);

	return check_one(&c);
}

const struct command commands[] = {
	{ "matrix", 0, run_matrix },
	{ "random", 2, run_random },
	{ "case", 1, run_case },
	{ "race", 4, run_device_race },
	{ "parallel", 4, run_parallel },
	{ "devices", 5, run_devices },
	{ "beside", 3, run_beside },
	{ "threads", 4, run_threads },
	{ "idle", 4, run_threads },
	{ }
};

void add_kernels(void)
{
	add_kernel("base", &base_side, false);
	add_kernel("series", &series_side, false);
	add_kernel("fallback", &fallback_side, false);
	add_kernel("peer", &peer_side, true);
	use_threads(1);
}

void describe_program(void)
{
	printf("struct page of %u bytes, compound_info is a %s, sections of %lu pages\n",
	       layout->page_struct_size, layout->mask_encoding ? "mask" : "pointer",
	       layout->pages_per_section);
}
