// SPDX-License-Identifier: GPL-2.0
/* The commands of the device replay. */
#include <string.h>

#include "userspace.h"

const char usage[] =
"usage: replay random [CASES [SEED [FIRST]]] compare the memmaps of random cases byte for byte\n"
"       replay race [GIB [ORDERS [ROUNDS [JSON]]]]\n"
"                                            time a device of GIB GiB; ORDERS is 0,9,9d,\n"
"                                            where d stands for a deduplicated memmap;\n"
"                                            the samples go to the file JSON\n"
"       replay touch [ORDERS [ROUNDS [JSON]]]\n"
"                                            time small devices, and a write to each of\n"
"                                            their struct pages behind that\n"
"       replay parallel [MIB [ORDERS [ROUNDS [JSON]]]]\n"
"                                            time a device of MIB MiB by wall clock, with\n"
"                                            one thread and with more of them\n"
"       replay devices [N [MIB [ORDERS [ROUNDS [JSON]]]]]\n"
"                                            time N devices of MIB MiB by wall clock, one\n"
"                                            after another and two at once\n"
"       replay beside COMMAND...             compare two devices that are bound at once\n"
"       replay threads N COMMAND...          compare with N CPUs and the smallest chunks\n"
"       replay idle N COMMAND...             the same, but no helper starts\n"
"       replay few N COMMAND...              the same as threads, but padata has one work\n"
"       replay info                          the kernels and their struct page\n";

unsigned int nr_threads = 1;

/* With more than one, every kernel but the base splits its ranges as much as it can. */
static void use_threads(unsigned long nr)
{
	for (unsigned int i = 1; i < nr_kernels; i++)
		kernels[i].side->set_cpus(nr, nr > 1);
	nr_threads = nr;
}

/* "threads", "idle" or "few", then a command */
static int run_threads(int nr, char **words)
{
	use_threads(read_within(nr, words, 0, 0, 64, "threads:"));
	if (strcmp(words[-1], "idle"))
		threads_start(nr_threads - 1);
	if (!strcmp(words[-1], "few"))
		for (unsigned int i = 1; i < nr_kernels; i++)
			kernels[i].side->set_works(1);
	return run_command(nr - 1, words + 1);
}

static int run_beside(int nr, char **words)
{
	beside = true;
	threads_start(1);
	return run_command(nr, words);
}

const struct command commands[] = {
	{ "random", 3, check_random },
	{ "race", 4, race_device },
	{ "touch", 3, race_touch },
	{ "parallel", 4, race_threads },
	{ "devices", 5, race_devices },
	{ "beside", 6, run_beside },
	{ "threads", 5, run_threads },
	{ "idle", 5, run_threads },
	{ "few", 5, run_threads },
	{ }
};

void prepare_kernels(void)
{
	use_threads(1);
}
