// SPDX-License-Identifier: GPL-2.0
/* The commands of the demotion replay. */
#include <cpuid.h>

#include "userspace.h"

const char usage[] =
"usage: demotion check                          compare every byte\n"
"       demotion publish [ROUNDS]               look at each copy from another CPU\n"
"       demotion race [GIB [ROUNDS [JSON]]]     time folios in GIB GiB; samples go to JSON\n"
"       demotion info                           the kernels\n";

void prepare_kernels(void)
{
	unsigned int a, b = 0, c, d;

	__get_cpuid_count(7, 0, &a, &b, &c, &d);
	for (unsigned int i = 0; i < nr_kernels; i++)
		demotion_side(&kernels[i])->tell_erms(b >> 9 & 1);
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
