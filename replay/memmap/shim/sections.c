// SPDX-License-Identifier: GPL-2.0
/* The sections of memory, as SPARSEMEM_EXTREME has them: a root points to some of them. */
#include "kernel.h"

#ifndef CONFIG_SPARSEMEM_EXTREME
#error "the shim provides mem_section as SPARSEMEM_EXTREME has it"
#endif

static struct mem_section *roots[(1UL << (52 - SECTION_SIZE_BITS)) / SECTIONS_PER_ROOT];
struct mem_section **mem_section = roots;

struct state *state;
enum memmap_what current_what;
struct memmap_counts counts;

unsigned long make_sections(unsigned long pfn, unsigned long end_pfn, unsigned long flags)
{
	static unsigned long first, nr;
	unsigned long i, j;

	for (i = 0; i < nr; i++)
		roots[first + i] = NULL;
	first = SECTION_NR_TO_ROOT(pfn_to_section_nr(pfn));
	first -= !!first;
	nr = SECTION_NR_TO_ROOT(pfn_to_section_nr(end_pfn)) + 2 - first;
	if (nr > NR_ROOTS)
		__builtin_trap();
	memset(state, 0, offsetof(struct state, roots[nr]));
	for (i = 0; i < nr; i++) {
		roots[first + i] = state->roots[i].sections;
		for (j = 0; j < SECTIONS_PER_ROOT; j++) {
			struct mem_section *section = &state->roots[i].sections[j];

			section->usage = (struct mem_section_usage *)state->roots[i].usage[j];
			bitmap_fill(section->usage->subsection_map, SUBSECTIONS_PER_SECTION);
			section->section_mem_map = flags;
		}
	}
	return offsetof(struct state, roots[nr]);
}
