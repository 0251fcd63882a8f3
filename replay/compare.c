// SPDX-License-Identifier: GPL-2.0
/*
 * Equality: each kernel runs over the same poisoned memmap, then every byte of it
 * and of guards on both sides is compared with what the base left, and every call
 * out of the code with those of the base.
 */
#include <stdlib.h>
#include <string.h>

#include "userspace.h"

#define MAX_REPORTS	20

static struct comparison how;
static unsigned char *snapshot, *state_snapshot;
static unsigned long nr_compared, nr_reports, nr_entries, nr_bytes;
static unsigned long nr_differing[MAX_KERNELS];	/* cases */

void compare_open(unsigned long pages, const struct comparison *comparison)
{
	how = *comparison;
	window_open((pages + 2 * how.guard) * layout->page_struct_size);
	snapshot = map_at(0, window_size + how.state_size);
	state_snapshot = snapshot + window_size;
}

/* Small letters where it is no failure. */
static const char *verb(unsigned int kernel)
{
	return kernels[kernel].may_differ ? "differs" : "DIFFERS";
}

/* Returns how many bytes differ, and the first of them. */
static unsigned long differing_bytes(const unsigned char *a, const unsigned char *b,
				     unsigned long bytes, unsigned long *first)
{
	unsigned long differing = 0;

	if (!memcmp(a, b, bytes))
		return 0;
	for (unsigned long i = 0; i < bytes; i++)
		if (a[i] != b[i] && !differing++)
			*first = i;
	return differing;
}

static bool memmap_same(const struct replay_case *c, const unsigned char *start,
			unsigned long bytes, char *text, size_t size)
{
	unsigned long first = 0, nr = differing_bytes(start, snapshot, bytes, &first);
	unsigned long pfn = pfn_of(start + first), offset = first % layout->page_struct_size;
	unsigned long page = (pfn - c->start_pfn - c->reserve - c->offset) % (1UL << c->order);
	char of[64] = "";

	if (c->order)
		snprintf(of, sizeof(of), ", page %lu of its compound", page);
	snprintf(text, size, "pfn 0x%lx%s%s, offset %lu, %s: 0x%02x, base 0x%02x; %lu bytes differ",
		 pfn, of, pfn < c->start_pfn || pfn >= c->start_pfn + c->nr_pages ?
		 ", outside of the range" : "",
		 offset, field_at(page, offset), start[first], snapshot[first], nr);
	return !nr;
}

static bool state_same(char *text, size_t size)
{
	unsigned long first = 0, nr;

	nr = differing_bytes(how.state, state_snapshot, how.state_size, &first);
	snprintf(text, size, "zone, bitmaps or counters: offset %lu; %lu bytes differ", first, nr);
	return !nr;
}

/* Of a kernel that may differ, only the first case that does is told. */
static bool report(unsigned int kernel, const char *text)
{
	if (!kernels[kernel].may_differ || !nr_differing[kernel])
		printf("%s %s\n  %s: %s\n", verb(kernel), crash_context, kernels[kernel].name,
		       text);
	return true;
}

/* Compares with the base. */
static void judge(const struct replay_case *c, unsigned int kernel, const unsigned char *start,
		  unsigned long bytes)
{
	bool differs = false;
	char text[256];

	if (!events_same(text, sizeof(text)))
		differs |= report(kernel, text);
	if (!memmap_same(c, start, bytes, text, sizeof(text)))
		differs |= report(kernel, text);
	if (!state_same(text, sizeof(text)))
		differs |= report(kernel, text);
	nr_differing[kernel] += differs;
	if (differs && !kernels[kernel].may_differ && ++nr_reports == MAX_REPORTS) {
		printf("stopped at the %dth difference\n", MAX_REPORTS);
		exit(1);
	}
}

void compare(const struct replay_case *c, const char *name)
{
	unsigned long entries = how.guard + c->nr_pages + how.guard + (1UL << c->order);
	unsigned long bytes = entries * layout->page_struct_size;
	unsigned char *start = window_place(c->start_pfn - how.guard);

	crash_context = name;
	for (unsigned int i = 0; i < nr_kernels; i++) {
		crash_kernel = kernels[i].name;
		poison(start, bytes, c->poison);
		events_start(how.unordered ? EVENTS_IGNORE : i ? EVENTS_COMPARE : EVENTS_RECORD);
		/* Traced or not: both must hold, so one of the poisons goes without. */
		how.run(kernels[i].side, c, layout->can_trace && c->poison != POISON_ONES);
		if (i) {
			judge(c, i, start, bytes);
			continue;
		}
		memcpy(snapshot, start, bytes);
		memcpy(state_snapshot, how.state, how.state_size);
	}
	crash_kernel = NO_KERNEL;
	nr_compared++;
	nr_entries += c->nr_pages - c->reserve - c->offset;
	nr_bytes += bytes;
}

int compare_summary(void)
{
	unsigned int nr_named = 0, failed = 0;

	printf("%lu case%s, %lu entries in range, %.1f GiB compared per kernel: ",
	       nr_compared, nr_compared == 1 ? "" : "s", nr_entries, (double)nr_bytes / GIB);
	for (unsigned int i = 1; i < nr_kernels; i++)
		if (!nr_differing[i])
			printf("%s%s", nr_named++ ? " and " : "", kernels[i].name);
	if (nr_named)
		printf(" as base, byte for byte");
	for (unsigned int i = 1; i < nr_kernels; i++) {
		if (!nr_differing[i])
			continue;
		failed |= !kernels[i].may_differ;
		printf("%s%s %s from base in %lu case%s", nr_named++ ? "; " : "",
		       kernels[i].name, verb(i), nr_differing[i],
		       nr_differing[i] == 1 ? "" : "s");
	}
	printf("\n");
	return failed;
}
