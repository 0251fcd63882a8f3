// SPDX-License-Identifier: GPL-2.0
/* The boot replay: its command line. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "userspace.h"

const char usage[] =
"usage: boot matrix [FIRST [CASES]]          compare memmaps and free lists byte for byte\n"
"       boot random [FIRST [CASES [SEED]]]   the same for random cases\n"
"       boot race [GIB [ROUNDS [JSON]]]      time a zone of GIB GiB; raw samples go to JSON\n"
"       boot info                            the CPU, the kernels, their struct page\n";

extern const struct boot_side base_side_boot asm("base_side");
extern const struct boot_side series_side_boot asm("series_side") __attribute__((weak));
extern const struct boot_side fallback_side_boot asm("fallback_side") __attribute__((weak));

static void add_boot_kernel(const char *name, const struct boot_side *side)
{
	if (!side)
		return;
	add_kernel(name, &side->side, false);
	if (side->state_size != boot_side(&kernels[0])->state_size)
		die("struct zone or its like differs between base and %s", name);
}

void *boot_state(void)
{
	static void *state;

	if (!state)
		state = aligned_alloc(4096, (boot_side(&kernels[0])->state_size + 4095) / 4096 * 4096);
	if (!state)
		die("out of memory for a zone");
	return state;
}

static int info(void)
{
	char cpu[128];

	cpu_name(cpu, sizeof(cpu));
	printf("%s\nstruct page of %u bytes, blocks of %lu pages, sections of %lu\nkernels:",
	       cpu, layout->page_struct_size, boot_side(&kernels[0])->block_pages,
	       layout->pages_per_section);
	for (unsigned int i = 0; i < nr_kernels; i++)
		printf(" %s", kernels[i].name);
	printf("%s%s\n", layout->can_trace ? ", with the page_ref_set tracepoint" : "",
	       boot_side(&kernels[0])->can_check ? ", with check_pages=" : "");
	return 0;
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";
	unsigned long first = 0, nr = ULONG_MAX;

	crash_catch();
	add_boot_kernel("base", &base_side_boot);
	add_boot_kernel("series", &series_side_boot);
	add_boot_kernel("fallback", &fallback_side_boot);

	if (!strcmp(command, "matrix") && argc <= 4) {
		first = argc > 2 ? read_argument(argv[2]) : first;
		nr = argc > 3 ? read_argument(argv[3]) : nr;
		return check_cases(LIST_MATRIX, first, nr, 0);
	}
	if (!strcmp(command, "random") && argc <= 5) {
		first = argc > 2 ? read_argument(argv[2]) : first;
		nr = argc > 3 ? read_argument(argv[3]) : 300;
		return check_cases(LIST_RANDOM, first, nr, argc > 4 ? read_argument(argv[4]) : 1);
	}
	if (!strcmp(command, "race") && argc <= 5) {
		unsigned long gib = argc > 2 ? read_argument(argv[2]) : 16;
		unsigned long rounds = argc > 3 ? read_argument(argv[3]) : 15;

		if (!gib || gib > 256 || !rounds || rounds > MAX_ROUNDS)
			die("a zone has 1 to 256 GiB, a race 1 to %d rounds", MAX_ROUNDS);
		return boot_race(gib, rounds, argc > 4 ? argv[4] : NULL);
	}
	if (!strcmp(command, "info") && argc == 2)
		return info();
	fputs(usage, stderr);
	return 2;
}
