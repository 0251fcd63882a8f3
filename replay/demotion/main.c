// SPDX-License-Identifier: GPL-2.0
/* The demotion replay: its command line. */
#include <stdlib.h>
#include <string.h>

#include "userspace.h"

const char usage[] =
"usage: demotion check                          compare every byte\n"
"       demotion publish [ROUNDS]               look at each copy from another CPU\n"
"       demotion race [GIB [ROUNDS [JSON]]]     time folios in GIB GiB; raw samples go to JSON\n";

extern const struct demotion_side base_side_demotion asm("base_side");
extern const struct demotion_side series_side_demotion asm("series_side") __attribute__((weak));

static void add_demotion_kernel(const char *name, const struct demotion_side *side)
{
	if (side)
		add_kernel(name, &side->side, false);
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";

	crash_catch();
	add_demotion_kernel("base", &base_side_demotion);
	add_demotion_kernel("series", &series_side_demotion);

	if (!strcmp(command, "check") && argc == 2)
		return check_copies();
	if (!strcmp(command, "publish") && argc <= 3)
		return publish_copies(argc > 2 ? read_argument(argv[2]) : 50000);
	if (!strcmp(command, "race") && argc <= 5) {
		unsigned long gib = argc > 2 ? read_argument(argv[2]) : 4;
		unsigned long rounds = argc > 3 ? read_argument(argv[3]) : 15;

		if (!gib || gib > 256 || !rounds || rounds > MAX_ROUNDS)
			die("a race takes 1 to 256 GiB, 1 to %d rounds", MAX_ROUNDS);
		return race_copies(gib, rounds, argc > 4 ? argv[4] : NULL);
	}
	fputs(usage, stderr);
	return 2;
}
