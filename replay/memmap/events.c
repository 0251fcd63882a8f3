// SPDX-License-Identifier: GPL-2.0
/* The calls that leave the code under test, recorded and compared. */
#include <pthread.h>

#include "program.h"

#define ROOM	(16UL << 20)

struct event {
	enum memmap_event kind;
	unsigned long a, b;
};

/* With the pfn of @a, @b, and what @b of a free block consists of */
static const char *const formats[] = {
	[EVENT_PAGEBLOCK] = "init_pageblock_migratetype(pfn 0x%lx, %ld)",
	[EVENT_PAGE_REF_SET] = "page_ref_set(pfn 0x%lx, %ld)",
	[EVENT_RESCHED] = "cond_resched",
	[EVENT_WARNING] = "WARN",
	[EVENT_FREE_BLOCK] = "free block(pfn 0x%lx, 0x%lx: order %lu, migratetype %lu)",
	[EVENT_ENTRY] = "entry(for pfn 0x%lx, 0x%lx)",
	[EVENT_REFERENCES] = "references(pfn 0x%lx, %ld)",
	[EVENT_FAILED] = "failed(for pfn 0x%lx)",
	[EVENT_STALE] = "stale bytes(for pfn 0x%lx)",
	[EVENT_CONTENT] = "content(for pfn 0x%lx, 0x%lx)",
	[EVENT_COUNTED] = "counted(for pfn 0x%lx, %ld pages)",
	[EVENT_PRINT] = "printk",
	[EVENT_MIGRATE] = "migrate(pfn 0x%lx)",
	[EVENT_RESULT] = "step(at pfn 0x%lx) returns %ld",
	[EVENT_ACCEPTED] = "accepted(from pfn 0x%lx, %ld pages)",
	[EVENT_ZONE] = "zone(from pfn 0x%lx, %ld: pages << 1 | contiguous)",
};

static struct event *recorded;
static size_t nr_recorded, nr_same, nr_seen;
static struct event odd;	/* the first that is not as recorded */
static enum events_mode mode;

/*
 * Of page_ref_set only the last event of each page is compared: how often a
 * count is set on the way to its final value is not part of the result.
 */
struct count {
	unsigned int run;		/* of which the count is, 0: none */
	int value;
};

static struct count *counts, *base_counts;	/* by entry of the window */
static size_t room;				/* entries */
static size_t counted_from, counted_to;		/* those with a count since the base ran */
static unsigned int run, base_run;

static void note(enum memmap_event kind, unsigned long a, unsigned long b)
{
	unsigned long entry = (a - WINDOW_START) / layout->page_struct_size;

	if (kind == EVENT_PAGE_REF_SET && entry < room) {
		struct count *count = mode == EVENTS_RECORD ? base_counts : counts;

		count[entry] = (struct count) { run, b };
		if (entry < counted_from)
			counted_from = entry;
		if (entry >= counted_to)
			counted_to = entry + 1;
		return;
	}
	if (mode == EVENTS_RECORD) {
		if (nr_recorded < ROOM)
			recorded[nr_recorded] = (struct event) { kind, a, b };
		nr_recorded++;
		return;
	}
	if (nr_same == nr_seen) {
		if (nr_seen < nr_recorded && recorded[nr_seen].kind == kind &&
		    recorded[nr_seen].a == a && recorded[nr_seen].b == b)
			nr_same++;
		else
			odd = (struct event) { kind, a, b };
	}
	nr_seen++;
}

KERNEL_CALLS
void replay_event(enum memmap_event kind, unsigned long a, unsigned long b)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	if (mode == EVENTS_IGNORE)
		return;
	pthread_mutex_lock(&lock);
	note(kind, a, b);
	pthread_mutex_unlock(&lock);
}

void events_start(enum events_mode new_mode)
{
	if (!recorded) {
		room = window_size / layout->page_struct_size;
		recorded = map_at(0, ROOM * sizeof(*recorded));
		counts = map_at(0, room * sizeof(*counts));
		base_counts = map_at(0, room * sizeof(*base_counts));
	}
	run++;
	mode = new_mode;
	if (mode == EVENTS_RECORD) {
		base_run = run;
		nr_recorded = 0;
		counted_from = room;
		counted_to = 0;
	}
	nr_same = 0;
	nr_seen = 0;
}

static void describe(const struct event *event, char *text, size_t size)
{
	snprintf(text, size, formats[event->kind], pfn_of((void *)event->a), event->b,
		 event->b >> 8, event->b & 0xff);
}

/* -1: none */
static int last_count(const struct count *count, unsigned int run)
{
	return count->run == run ? count->value : -1;
}

/* False, with the first page in @text, if the last counts are not the base's. */
static bool counts_same(char *text, size_t size)
{
	for (size_t i = counted_from; i < counted_to; i++) {
		int want = last_count(&base_counts[i], base_run), got = last_count(&counts[i], run);

		if (got == want)
			continue;
		snprintf(text, size, "last page_ref_set of pfn 0x%lx: %d, base %d (-1: none)",
			 pfn_of((char *)WINDOW_START + i * layout->page_struct_size), got, want);
		return false;
	}
	return true;
}

bool events_same(char *text, size_t size)
{
	char want[128] = "nothing", got[128] = "nothing";

	mode = EVENTS_IGNORE;
	if (nr_recorded > ROOM)
		die("a case caused %zu events, room is for %lu: enlarge ROOM in events.c",
		    nr_recorded, ROOM);
	if (nr_same == nr_recorded && nr_seen == nr_recorded)
		return counts_same(text, size);
	if (nr_same < nr_recorded)
		describe(&recorded[nr_same], want, sizeof(want));
	if (nr_same < nr_seen)
		describe(&odd, got, sizeof(got));
	snprintf(text, size, "event %zu: %s, base %s", nr_same, got, want);
	return false;
}
