// SPDX-License-Identifier: GPL-2.0
/* The commands of the boot replay. */
#include <string.h>

#include "userspace.h"

const char usage[] =
"usage: boot matrix WHAT [FIRST [CASES]]          compare memmaps and free lists byte for byte\n"
"       boot random WHAT [FIRST [CASES [SEED]]]   the same for random cases\n"
"       boot race WHAT [GIB [ROUNDS [JSON]]]      time GIB GiB; the samples go to JSON\n"
"       boot threads [GIB [ROUNDS [JSON]]]        time deferred GIB GiB by wall clock, by threads\n"
"       boot count WHAT                           count instructions per struct page\n"
"       boot info                                 the kernels and their struct page\n"
"WHAT is deferred, reserved or online\n";

void *boot_state;

void prepare_kernels(void)
{
	boot_state = map_at(0, boot_side(&kernels[0])->state_size);
	for (unsigned int i = 1; i < nr_kernels; i++)
		if (boot_side(&kernels[i])->state_size != boot_side(&kernels[0])->state_size)
			die("struct zone or its like differs between base and %s", kernels[i].name);
}

void describe_program(void)
{
	printf("struct page of %u bytes, blocks of %lu pages, sections of %lu%s\n",
	       layout->page_struct_size, boot_side(&kernels[0])->block_pages,
	       layout->pages_per_section,
	       boot_side(&kernels[0])->can_check ? ", with check_pages=" : "");
}

enum boot_what read_what(int nr, char **words)
{
	for (unsigned int what = 0; nr && what < NR_BOOT; what++)
		if (!strcmp(words[0], boot_name(what)))
			return what;
	fputs(usage, stderr);
	die("say what: deferred, reserved or online");
}

const struct command commands[] = {
	{ "matrix", 3, check_cases },
	{ "random", 4, check_cases },
	{ "race", 4, race_boot },
	{ "threads", 3, race_threads },
	{ "count", 1, count_boot },
	{ }
};
