// SPDX-License-Identifier: GPL-2.0
/*
 * Equality: after a bind, page tables entry by entry, references and struct pages;
 * after an unbind, that all pages are returned; and what was freed when.
 */
#include <stdlib.h>
#include <string.h>

#include "userspace.h"

#define GUARD	4096UL		/* bytes on either side of the memmap */
#define USED	(64 * MIB)

static bool differs;

static void report(const char *what, unsigned long is, unsigned long should)
{
	printf("DIFFERS %s\n  %s: %s: %#lx, base %#lx\n", crash_context, crash_kernel, what, is,
	       should);
	differs = true;
}

static void check_words(const unsigned long *a, unsigned long nr, const unsigned long *b,
			unsigned long nr_b)
{
	static const char *const names[] = { "address", "entry", "references" };

	if (nr != nr_b) {
		report("entries", nr / 3, nr_b / 3);
		return;
	}
	for (unsigned long i = 0; i < nr; i++)
		if (a[i] != b[i]) {
			report(names[i % 3], a[i], b[i]);
			return;
		}
}

static void check_case(const struct replay_case *c, bool twice)
{
	unsigned long most = c->nr_pages * layout->page_struct_size / 4096 * 3;
	unsigned long *words[3] = { malloc(most * 8), malloc(most * 8), malloc(most * 8) };
	unsigned long nr[2], left;
	unsigned long bytes = c->nr_pages * layout->page_struct_size;
	unsigned char *start = entry(c->start_pfn) - GUARD, *memmap = malloc(bytes + 2 * GUARD);
	struct bind_counts before, bound, after;

	for (unsigned int k = 0; k < nr_kernels; k++) {
		const struct bind_side *side = bind_side(&kernels[k]);
		unsigned int which = !!k;

		crash_kernel = kernels[k].name;
		fill_random(start, bytes + 2 * GUARD, 1);
		/* Memory is allocated from the start on; it is not zero. */
		memset(bind_memory(), 0x5a, USED);
		side->prepare(c, bind_state);
		side->count(&before);
		for (int i = 0; i <= twice; i++) {
			bind_run(side, c, BIND_POPULATE);
			bind_run(side, c, BIND_FILL);
			side->count(&bound);
			if (!i) {
				nr[which] = side->walk(c, words[which]);
				if (!k)
					memcpy(memmap, start, bytes + 2 * GUARD);
				else if (memcmp(memmap, start, bytes + 2 * GUARD))
					report("struct pages", 1, 0);
			}
			bind_run(side, c, BIND_FREE);
			side->count(&after);
			left = side->walk(c, words[2]);
			if (left)
				report("entries left", left / 3, 0);
		}
		/* The table of 1 GiB of vmemmap and those above stay. */
		if (before.free_pages - after.free_pages > 8)
			report("pages not returned", before.free_pages - after.free_pages, 0);
		if (!k)
			continue;
		check_words(words[1], nr[1], words[0], nr[0]);
		if (after.early)
			report("pages freed before they were unmapped", after.early, 0);
	}
	nr_compared++;
	for (int i = 0; i < 3; i++)
		free(words[i]);
	free(memmap);
}

/* What fsdev relies on: of the struct pages of another driver, no byte survives. */
static void check_drivers(unsigned int order)
{
	struct replay_case other = bind_case(1, order, true), c = bind_case(1, 0, true);
	unsigned long bytes = (c.nr_pages - c.reserve - c.offset) * layout->page_struct_size;
	unsigned char *start = entry(c.start_pfn + c.reserve + c.offset), *memmap = malloc(bytes);

	for (unsigned int k = 0; k < nr_kernels; k++) {
		const struct bind_side *side = bind_side(&kernels[k]);

		crash_kernel = kernels[k].name;
		for (int i = 0; i < 2; i++) {
			fill_random(start, bytes, 1);
			if (i) {
				side->prepare(&other, bind_state);
				bind_run(side, &other, BIND_FILL);
			}
			side->prepare(&c, bind_state);
			bind_run(side, &c, BIND_FILL);
			if (!i)
				memcpy(memmap, start, bytes);
			else if (memcmp(memmap, start, bytes))
				report("struct pages of another driver", 1, 0);
		}
	}
	nr_compared++;
	free(memmap);
}

int check_bind(int nr, char **words)
{
	static const unsigned int orders[] = { 0, 9, 18 };
	char name[64];

	window_open((BIND_DEVICE_PFN - BIND_RAM_PFN + (2 * GIB >> 12)) * layout->page_struct_size);
	window_place(BIND_RAM_PFN);
	for (int i = 0; i < 24; i++) {
		struct replay_case c = bind_case(1 + i / 12, orders[i % 3], i / 3 % 2);

		for (unsigned int k = 0; k < nr_kernels; k++)
			set_key(bind_side(&kernels[k])->init_on_alloc, i / 6 % 2);
		snprintf(name, sizeof(name), "bind of %d GiB, order %u%s%s", 1 + i / 12, c.order,
			 c.altmap ? ", map=dev" : "", i / 6 % 2 ? ", init_on_alloc" : "");
		crash_context = name;
		check_case(&c, true);
	}
	for (unsigned int order = 9; order <= 18; order += 9) {
		snprintf(name, sizeof(name), "bind of fsdev after device_dax, order %u", order);
		check_drivers(order);
	}
	printf("%lu cases: series %s\n", nr_compared, differs ? "DIFFERS" : "as base");
	return differs;
}
