// SPDX-License-Identifier: GPL-2.0
/* The replay program: command line, and the kernels linked into it. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "user.h"

static const char usage[] =
"usage: replay matrix                        compare the memmaps byte for byte\n"
"       replay random [CASES [SEED]]         the same for random cases\n"
"       replay case KEY=VALUE,...            compare one case, as printed by the others\n"
"       replay race [GIB [ORDERS [ROUNDS [JSON]]]]\n"
"                                            time a device of GIB GiB, 0-18 or 0,9,9d,\n"
"                                            where d stands for a deduplicated memmap;\n"
"                                            raw samples go to the file JSON\n"
"       replay info                          the CPU, the kernels, their struct page\n";

extern const struct replay_side base_side;
extern const struct replay_side series_side __attribute__((weak));
extern const struct replay_side fallback_side __attribute__((weak));

struct kernel kernels[3];
unsigned int nr_kernels;
const struct replay_layout *layout;
unsigned long replay_pgmap[512];

void die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fprintf(stderr, "replay: ");
	vfprintf(stderr, format, arguments);
	fprintf(stderr, "\n");
	exit(2);
}

static void add_kernel(const char *name, const struct replay_side *side)
{
	if (!side)
		return;
	kernels[nr_kernels++] = (struct kernel) { name, side };
	if (nr_kernels == 1)
		layout = side->describe();
	else if (side->describe()->page_struct_size != layout->page_struct_size)
		die("struct page differs between base and %s", name);
}

static unsigned long number(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 0);

	if (!*text || *end || *text == '-') {
		fputs(usage, stderr);
		die("\"%s\" is no number", text);
	}
	return n;
}

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
		first = number(part);
		last = dash ? number(dash + 1) : first;
		if (last > layout->max_order || first > last)
			die("orders go from 0 to %u", layout->max_order);
		if (d && (1UL << first) <= layout->dedup_pages)
			die("order %lu is not deduplicated: its memmap needs more than %u pages",
			    first, layout->dedup_pages);
		for (; first <= last && options->nr_orders < MAX_ORDERS; first++) {
			options->deduplicated[options->nr_orders] = d;
			options->orders[options->nr_orders++] = first;
		}
	}
}

static int run_race(int argc, char **argv)
{
	struct race_options options = {
		.device_gib = argc > 0 ? number(argv[0]) : 16,
		.rounds = argc > 2 ? number(argv[2]) : 15,
		.json = argc > 3 ? argv[3] : NULL,
	};

	read_orders(&options, argc > 1 ? argv[1] : "0-18");
	if (!options.device_gib || options.device_gib > 65536)
		die("a device has 1 to 65536 GiB");
	if (!options.rounds || options.rounds > MAX_ROUNDS)
		die("1 to %d rounds", MAX_ROUNDS);
	return race(&options);
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
	const char *command = argc > 1 ? argv[1] : "";

	crash_catch();
	add_kernel("base", &base_side);
	add_kernel("series", &series_side);
	add_kernel("fallback", &fallback_side);

	if (!strcmp(command, "race") && argc <= 6)
		return run_race(argc - 2, argv + 2);
	if (!strcmp(command, "matrix") && argc == 2)
		return check_matrix();
	if (!strcmp(command, "random") && argc <= 4)
		return check_random(argc > 2 ? number(argv[2]) : 20000,
				    argc > 3 ? number(argv[3]) : 1);
	if (!strcmp(command, "case") && argc == 3) {
		struct replay_case c = spec_read(argv[2]);

		return check_one(&c);
	}
	if (!strcmp(command, "info") && argc == 2)
		return info();
	fputs(usage, stderr);
	return 2;
}
