// SPDX-License-Identifier: GPL-2.0
/* The commands of the bind replay. */
#include "userspace.h"

const char usage[] =
"usage: bind check                         compare page tables, references, memmaps and counts\n"
"       bind race [GIB [ROUNDS [JSON]]]    time devices of GIB GiB; the samples go to JSON\n"
"       bind info                          the kernels and their struct page\n";

void *bind_state;

void prepare_kernels(void)
{
	bind_state = map_at(0, bind_side(&kernels[0])->state_size);
	patch_kernels();
}

void describe_program(void)
{
	printf("struct page of %u bytes\n", layout->page_struct_size);
}

/* Blocks of vmemmap are aligned to their size. */
KERNEL_CALLS
void *bind_memory(void)
{
	static unsigned long memory;

	if (!memory)
		memory = ((unsigned long)map_at(0, (BIND_RAM_PAGES << 12) + GIB) + GIB - 1) & -GIB;
	return (void *)memory;
}

struct replay_case bind_case(unsigned long gib, unsigned int order, bool altmap)
{
	unsigned long pages = gib * GIB >> layout->page_shift;
	struct replay_case c = {
		.start_pfn = BIND_DEVICE_PFN,
		.nr_pages = pages,
		.order = order,
		.altmap = altmap,
	};

	if (altmap) {
		/* As ndctl: the memmap, and 2 MiB for the labels and the alignment. */
		c.reserve = 2;
		c.offset = pages * layout->page_struct_size / 4096 + 512 - c.reserve;
	}
	return c;
}

void bind_run(const struct bind_side *side, const struct replay_case *c, enum bind_part part)
{
	if (side->run(c, part))
		die("%s: part %u of %s fails", crash_kernel, part, crash_context);
}

const struct command commands[] = {
	{ "check", 0, check_bind },
	{ "race", 3, race_bind },
	{ }
};
