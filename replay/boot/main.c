// SPDX-License-Identifier: GPL-2.0
/* The commands of the boot replay. */
#include <limits.h>

#include "userspace.h"

const char usage[] =
"usage: boot matrix [FIRST [CASES]]          compare memmaps and free lists byte for byte\n"
"       boot random [FIRST [CASES [SEED]]]   the same for random cases\n"
"       boot race [GIB [ROUNDS [JSON]]]      time a zone of GIB GiB; the samples go to JSON\n"
"       boot info                            the kernels and their struct page\n";

DECLARE_SIDE(boot_side, base);
DECLARE_SIDE(boot_side, series);
DECLARE_SIDE(boot_side, fallback);
DECLARE_SIDE(boot_side, peer);

static void add_boot_kernel(const char *name, const struct boot_side *side, bool may_differ)
{
	if (!side)
		return;
	add_kernel(name, &side->side, may_differ);
	if (side->state_size != boot_side(&kernels[0])->state_size)
		die("struct zone or its like differs between base and %s", name);
}

void add_kernels(void)
{
	add_boot_kernel("base", &base_side, false);
	add_boot_kernel("series", &series_side, false);
	add_boot_kernel("fallback", &fallback_side, false);
	add_boot_kernel("peer", &peer_side, true);
}

void *boot_state(void)
{
	static void *state;

	if (!state)
		state = allocate(boot_side(&kernels[0])->state_size + 4095);
	return (void *)(((unsigned long)state + 4095) & -4096UL);
}

void describe_program(void)
{
	printf("struct page of %u bytes, blocks of %lu pages, sections of %lu%s\n",
	       layout->page_struct_size, boot_side(&kernels[0])->block_pages,
	       layout->pages_per_section,
	       boot_side(&kernels[0])->can_check ? ", with check_pages=" : "");
}

static int run_cases(int nr, char **words)
{
	enum boot_list list = *words[-1] == 'm' ? LIST_MATRIX : LIST_RANDOM;

	return check_cases(list, read_word(nr, words, 0, 0),
			   read_word(nr, words, 1, list == LIST_MATRIX ? ULONG_MAX : 300),
			   read_word(nr, words, 2, 1));
}

static int run_boot_race(int nr, char **words)
{
	return race_boot(read_within(nr, words, 0, 16, 256, "a zone has GiB:"),
			 read_within(nr, words, 1, 15, MAX_ROUNDS, "rounds:"),
			 nr > 2 ? words[2] : NULL);
}

const struct command commands[] = {
	{ "matrix", 2, run_cases },
	{ "random", 3, run_cases },
	{ "race", 3, run_boot_race },
	{ }
};
