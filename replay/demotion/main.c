// SPDX-License-Identifier: GPL-2.0
/* The commands of the demotion replay. */
#include "userspace.h"

const char usage[] =
"usage: demotion check                          compare every byte\n"
"       demotion publish [ROUNDS]               look at each copy from another CPU\n"
"       demotion race [GIB [ROUNDS [JSON]]]     time folios in GIB GiB; samples go to JSON\n"
"       demotion info                           the kernels\n";

DECLARE_SIDE(demotion_side, base);
DECLARE_SIDE(demotion_side, series);

void add_kernels(void)
{
	add_kernel("base", &base_side.side, false);
	if (&series_side)
		add_kernel("series", &series_side.side, false);
}

void describe_program(void)
{
	printf("struct page of %u bytes\n", layout->page_struct_size);
}

static int run_check(int nr, char **words)
{
	return check_copies();
}

static int run_publish(int nr, char **words)
{
	return publish_copies(read_word(nr, words, 0, 50000));
}

static int run_copy_race(int nr, char **words)
{
	return race_copies(read_within(nr, words, 0, 4, 256, "a race takes GiB:"),
			   read_within(nr, words, 1, 15, MAX_ROUNDS, "rounds:"),
			   nr > 2 ? words[2] : NULL);
}

const struct command commands[] = {
	{ "check", 0, run_check },
	{ "publish", 1, run_publish },
	{ "race", 3, run_copy_race },
	{ }
};
