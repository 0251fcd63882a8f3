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

const struct command commands[] = {
	{ "check", 0, check_copies },
	{ "publish", 1, publish_copies },
	{ "race", 3, race_copies },
	{ }
};
