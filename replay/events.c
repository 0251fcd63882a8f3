// SPDX-License-Identifier: GPL-2.0
/* The calls that leave the code under test, recorded and compared. */
#include <sys/mman.h>

#include "user.h"

#define ROOM	(16UL << 20)

struct event {
	enum replay_event what;
	unsigned long a, b;
};

static const char *const names[] = {
	[EVENT_PAGEBLOCK] = "init_pageblock_migratetype",
	[EVENT_PAGE_REF_SET] = "page_ref_set",
	[EVENT_RESCHED] = "cond_resched",
	[EVENT_WARNING] = "WARN",
};

static struct event *recorded;
static size_t nr_recorded, nr_same, nr_seen;
static struct event odd;	/* the first that is not as recorded */
static enum events_mode mode;

/* The kernels keep their stack aligned to 8 bytes only, so: no SSE here. */
#ifdef __x86_64__
__attribute__((target("general-regs-only")))
#endif
void replay_event(enum replay_event what, unsigned long a, unsigned long b)
{
	if (mode == EVENTS_IGNORE)
		return;
	if (mode == EVENTS_RECORD) {
		if (nr_recorded < ROOM) {
			recorded[nr_recorded].what = what;
			recorded[nr_recorded].a = a;
			recorded[nr_recorded].b = b;
		}
		nr_recorded++;
		return;
	}
	if (nr_same == nr_seen) {
		if (nr_seen < nr_recorded && recorded[nr_seen].what == what &&
		    recorded[nr_seen].a == a && recorded[nr_seen].b == b) {
			nr_same++;
		} else {
			odd.what = what;
			odd.a = a;
			odd.b = b;
		}
	}
	nr_seen++;
}

void events_start(enum events_mode new_mode)
{
	if (!recorded) {
		recorded = mmap(NULL, ROOM * sizeof(*recorded), PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (recorded == MAP_FAILED)
			die("cannot map the record of events: raise ulimit -v");
	}
	mode = new_mode;
	if (mode == EVENTS_RECORD)
		nr_recorded = 0;
	nr_same = 0;
	nr_seen = 0;
}

static void describe(const struct event *event, char *text, size_t size)
{
	if (event->what == EVENT_PAGEBLOCK || event->what == EVENT_PAGE_REF_SET)
		snprintf(text, size, "%s(pfn 0x%lx, %ld)", names[event->what],
			 pfn_of((void *)event->a), (long)event->b);
	else
		snprintf(text, size, "%s", names[event->what]);
}

bool events_same(char *text, size_t size)
{
	char want[128] = "nothing", got[128] = "nothing";

	mode = EVENTS_IGNORE;
	if (nr_recorded > ROOM)
		die("a case caused %zu events, room is for %lu: enlarge ROOM in events.c",
		    nr_recorded, ROOM);
	if (nr_same == nr_recorded && nr_seen == nr_recorded)
		return true;
	if (nr_same < nr_recorded)
		describe(&recorded[nr_same], want, sizeof(want));
	if (nr_same < nr_seen)
		describe(&odd, got, sizeof(got));
	snprintf(text, size, "event %zu: %s, base %s", nr_same, got, want);
	return false;
}
