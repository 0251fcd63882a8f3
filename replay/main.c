// SPDX-License-Identifier: GPL-2.0
/* The replay program: its command line. */
#include <stdlib.h>
#include <string.h>

#include "userspace.h"

const char usage[] =
"usage: replay matrix                        compare the memmaps byte for byte\n"
"       replay random [CASES [SEED]]         the same for random cases\n"
"       replay case KEY=VALUE,...            compare one case, as printed by the others\n"
"       replay race [GIB [ORDERS [ROUNDS [JSON]]]]\n"
"                                            time a device of GIB GiB, 0-18 or 0,9,9d,\n"
"                                            where d stands for a deduplicated memmap;\n"
"                                            raw samples go to the file JSON\n"
"       replay parallel [MIB [ORDERS [ROUNDS [JSON]]]]\n"
"                                            time a device of MIB MiB by wall clock, with\n"
"                                            one thread and with more of them\n"
"       replay threads N COMMAND...          compare with N CPUs and the smallest chunks\n"
"       replay idle N COMMAND...             the same, but no helper starts\n"
"       replay info                          the CPU, the kernels, their struct page\n";

/* Reads "0-18" or "0,9,9d". */
static void read_orders(struct race_options *options, const char *text)
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
		for (; first <= last && options->nr_orders < MAX_ORDERS; first++) {
			options->deduplicated[options->nr_orders] = d;
			options->orders[options->nr_orders++] = first;
		}
	}
}

/* What both kinds of race read after the size of the device. */
static struct race_options read_race(int argc, char **argv, const char *orders)
{
	struct race_options options = {
		.rounds = argc > 2 ? read_argument(argv[2]) : 15,
		.json = argc > 3 ? argv[3] : NULL,
	};

	read_orders(&options, argc > 1 ? argv[1] : orders);
	if (!options.rounds || options.rounds > MAX_ROUNDS)
		die("1 to %d rounds", MAX_ROUNDS);
	return options;
}

static int run_race(int argc, char **argv)
{
	struct race_options options = read_race(argc, argv, "0-18");

	options.device_gib = argc > 0 ? read_argument(argv[0]) : 16;
	if (!options.device_gib || options.device_gib > 65536)
		die("a device has 1 to 65536 GiB");
	return race(&options);
}

static int run_parallel(int argc, char **argv)
{
	struct race_options options = read_race(argc, argv, "0,9");

	options.device_mib = argc > 0 ? read_argument(argv[0]) : 16384;
	if (options.device_mib < 128 || options.device_mib > 65536 << 10)
		die("a device has 128 MiB to 65536 GiB");
	return parallel_race(&options);
}

/* With more than one, every kernel but the base splits its ranges as much as it can. */
static void use_threads(unsigned long nr, bool helpers)
{
	if (!nr || nr > 64)
		die("1 to 64 threads");
	for (unsigned int i = 1; i < nr_kernels; i++)
		kernels[i].side->set_cpus(nr, nr > 1);
	if (helpers)
		threads_start(nr - 1);
	nr_threads = nr;
}

static int info(void)
{
	char cpu[128];

	cpu_name(cpu, sizeof(cpu));
	printf("%s\nstruct page of %u bytes, compound_info is a %s, sections of %lu pages\n",
	       cpu, layout->page_struct_size, layout->mask_encoding ? "mask" : "pointer",
	       layout->pages_per_section);
	printf("kernels:");
	for (unsigned int i = 0; i < nr_kernels; i++)
		printf(" %s", kernels[i].name);
	printf("%s\n", layout->can_trace ? ", with the page_ref_set tracepoint" : "");
	return 0;
}

int main(int argc, char **argv)
{
	const char *command;

	crash_catch();
	add_kernel("base", &base_side, false);
	add_kernel("series", &series_side, false);
	add_kernel("fallback", &fallback_side, false);
	add_kernel("peer", &peer_side, true);

	use_threads(1, false);
	if (argc > 2 && (!strcmp(argv[1], "threads") || !strcmp(argv[1], "idle"))) {
		use_threads(read_argument(argv[2]), *argv[1] == 't');
		argc -= 2;
		argv += 2;
	}
	command = argc > 1 ? argv[1] : "";
	if (!strcmp(command, "parallel") && argc <= 6)
		return run_parallel(argc - 2, argv + 2);
	if (!strcmp(command, "race") && argc <= 6)
		return run_race(argc - 2, argv + 2);
	if (!strcmp(command, "matrix") && argc == 2)
		return check_matrix();
	if (!strcmp(command, "random") && argc <= 4)
		return check_random(argc > 2 ? read_argument(argv[2]) : 20000,
				    argc > 3 ? read_argument(argv[3]) : 1);
	if (!strcmp(command, "case") && argc == 3) {
		struct replay_case c = case_read(argv[2]);

		return check_one(&c);
	}
	if (!strcmp(command, "info") && argc == 2)
		return info();
	fputs(usage, stderr);
	return 2;
}
