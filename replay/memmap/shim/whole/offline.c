// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that goes offline, and what is used of it meanwhile. What other objects do is done here in
 * few words: migration frees the old page or fails, drivers and hugetlb let go of their pages. All
 * of that is the same for each kernel.
 */
#include <linux/hugetlb.h>
#include <linux/memory.h>
#include <linux/memory_hotplug.h>
#include <linux/migrate.h>
#include <linux/page-isolation.h>

#include "../kernel.h"

atomic_t lru_disable_count;

STUB(__printk_deferred_enter, OFFLINE);
STUB(__printk_deferred_exit, OFFLINE);
STUB(free_percpu, OFFLINE);

#ifdef WITH_OFFLINE

int mutex_trylock(struct mutex *lock)
{
	return 1;
}

/* Memory blocks have no holes. */
int walk_system_ram_range(unsigned long start_pfn, unsigned long nr_pages, void *arg,
			  int (*func)(unsigned long, unsigned long, void *))
{
	return func(start_pfn, nr_pages, arg);
}

/* A used page has a count of one, and its use in page_private(). */
static struct {
	struct memmap_step step;
	unsigned int tries;
	bool steps;		/* other uses than USE_MOVABLE */
	bool raced;		/* the order of migration is not the base's */
	/* Where pages look free though they are not. */
	unsigned long pfn, end_pfn;
	/* The block that goes offline, where pages may be used late. */
	unsigned long block_pfn, block_end_pfn;
} beside;

static void walk_pages(unsigned long pfn, unsigned long end_pfn,
		       void (*look)(struct page *page))
{
	for (; pfn < end_pfn; pfn++)
		look(pfn_to_page(pfn));
}

static bool is_used(struct page *page, enum memmap_use use)
{
	return page_count(page) == 1 && !PageBuddy(page) && page_private(page) == use;
}

static void give_up(void)
{
	set_tsk_thread_flag(&task, TIF_SIGPENDING);
}

static void free_used(struct page *page, unsigned int order)
{
	set_page_count(page, 0);
	set_page_private(page, 0);
	free_frozen_pages(page, order);
}

static void going_offline(struct page *page)
{
	if (is_used(page, USE_SKIPPED)) {
		set_page_count(page, 0);
	} else if (is_used(page, USE_STALE) && PageLRU(page) &&
		   IS_ALIGNED(page_to_pfn(page), MAX_ORDER_NR_PAGES)) {
		ClearPageLRU(page);
		set_page_private(page, beside.step.stale);
		__SetPageBuddy(page);
		beside.raced |= beside.step.stale <= MAX_PAGE_ORDER;
		beside.end_pfn = page_to_pfn(page) + 1;
	}
}

static void look_used(struct page *page)
{
	if (!PageBuddy(page) || page_count(page) != 1)
		return;
	__ClearPageBuddy(page);
	set_page_private(page, USE_STALE);
	SetPageLRU(page);
}

static void stays_online(struct page *page)
{
	if (PageOffline(page) && page_private(page) == USE_SKIPPED)
		set_page_count(page, 1);
}

/* Only the first scan sees them so: the allocator would take them for free. */
static void end_race(void)
{
	walk_pages(beside.pfn, beside.end_pfn, look_used);
	beside.end_pfn = 0;
}

int memory_notify(enum memory_block_state state, void *v)
{
	struct memory_notify *range = v;
	unsigned long end_pfn = range->start_pfn + range->nr_pages;

	if ((state == MEM_GOING_ONLINE || state == MEM_GOING_OFFLINE) && beside.step.refused)
		return notifier_from_errno(-ENOMEM);
	if (!beside.steps)
		return 0;
	if (state == MEM_GOING_OFFLINE) {
		beside.pfn = range->start_pfn;
		walk_pages(range->start_pfn, end_pfn, going_offline);
	}
	if (state == MEM_CANCEL_OFFLINE)
		walk_pages(range->start_pfn, end_pfn, stays_online);
	return 0;
}

static void leave_cache(struct page *page)
{
	if (!is_used(page, USE_CACHED))
		return;
	set_page_private(page, USE_MOVABLE);
	SetPageLRU(page);
}

/* A page has a reference of the cache, so nobody frees it meanwhile. */
void lru_cache_disable(void)
{
	counts.lru_disabled++;
	atomic_inc(&lru_disable_count);
	if (beside.step.late)
		walk_pages(beside.block_pfn, beside.block_end_pfn, leave_cache);
}

bool isolate_folio_to_list(struct folio *folio, struct list_head *list)
{
	if (!lru_cache_disabled())
		warn_trap();
	end_race();
	if (!folio_test_hugetlb(folio) && !folio_test_lru(folio))
		return false;
	if (folio_test_hugetlb(folio))
		folio->private = NULL;
	else
		ClearPageLRU(&folio->page);
	folio_get(folio);
	list_add(&folio->lru, list);
	return true;
}

void putback_movable_pages(struct list_head *list)
{
	struct folio *folio, *next;

	list_for_each_entry_safe(folio, next, list, lru) {
		list_del(&folio->lru);
		SetPageLRU(&folio->page);
		folio_put(folio);
	}
}

static void free_hugetlb(struct folio *folio)
{
	__folio_clear_hugetlb(folio);
	free_used(&folio->page, pageblock_order);
}

int migrate_pages(struct list_head *from, new_folio_t get, free_folio_t put, unsigned long private,
		  enum migrate_mode mode, enum migrate_reason reason, unsigned int *succeeded)
{
	struct folio *folio, *next;
	int failed = 0;

	list_for_each_entry_safe(folio, next, from, lru) {
		if (beside.steps && !beside.raced)
			replay_event(EVENT_MIGRATE, (unsigned long)&folio->page, 0);
		if (!folio_test_hugetlb(folio) && page_private(&folio->page) == USE_STUCK) {
			failed++;
			continue;
		}
		list_del(&folio->lru);
		if (folio_test_hugetlb(folio))
			free_hugetlb(folio);
		else
			free_used(&folio->page, 0);
	}
	if (failed && ++beside.tries > 2)
		give_up();
	return failed;
}

struct folio *alloc_migration_target(struct folio *src, unsigned long private)
{
	return NULL;
}

void __folio_put(struct folio *folio)
{
	warn_trap();
}

static void retry(struct page *page)
{
	if (beside.tries == 2 && is_used(page, USE_FREED_LATE))
		free_used(page, 0);
	if (PageHead(page) && folio_test_hugetlb(page_folio(page)) && !page_count(page))
		free_hugetlb(page_folio(page));
}

/* Called once behind each scan for movable pages. */
int dissolve_free_hugetlb_folios(unsigned long start_pfn, unsigned long end_pfn)
{
	end_race();
	/* Pages that are in use and not found would be waited for without end. */
	if (++beside.tries > 4)
		give_up();
	if (beside.steps)
		walk_pages(start_pfn, end_pfn, retry);
	return 0;
}

void wait_for_freed_hugetlb_folios(void)
{
}

static void use_page(struct page *page, enum memmap_use use)
{
	set_page_count(page, use != USE_FROZEN);
	set_page_private(page, use);
	switch (use) {
	case USE_MOVABLE:
	case USE_STUCK:
	case USE_STALE:
		SetPageLRU(page);
		break;
	case USE_RESERVED:
		__SetPageReserved(page);
		break;
	case USE_OFFLINE:
	case USE_SKIPPED:
		__SetPageOffline(page);
		break;
	case USE_POISONED:
		SetPageHWPoison(page);
		break;
	default:
	}
}

static void use_hugetlb(struct page *page, enum memmap_use use)
{
	prep_compound_page(page, pageblock_order);
	__folio_set_hugetlb(page_folio(page));
	set_page_count(page, use == USE_HUGETLB);
	if (use == USE_HUGETLB)
		folio_set_hugetlb_migratable(page_folio(page));
}

/*
 * A whole pageblock that is stuck gets another type than the free one beside it, and every second
 * one is movable.
 */
static void use_group(unsigned long pfn, unsigned int group, enum memmap_use use)
{
	struct page *page = pfn_to_page(pfn);

	if (use == USE_STUCK && group == pageblock_order) {
		init_pageblock_migratetype(page, MIGRATE_RECLAIMABLE, false);
		if (pfn & MAX_ORDER_NR_PAGES)
			use = USE_MOVABLE;
	}
	for (unsigned long i = 0; i < 1UL << group; i++)
		use_page(page + i, i && use == USE_FROZEN ? USE_UNMOVABLE : use);
}

/* Uses one of each two groups of pages in the free blocks that lie in this range. */
static void use_pages(struct zone *zone, unsigned long pfn, unsigned long end_pfn,
		      enum memmap_use use, unsigned int group, bool second)
{
	unsigned long flags;

	spin_lock_irqsave(&zone->lock, flags);
	while (pfn < end_pfn) {
		struct page *page = pfn_to_page(pfn);
		unsigned int order;
		unsigned long next;

		if (!PageBuddy(page)) {
			pfn++;
			continue;
		}
		order = buddy_order(page);
		next = pfn + (1UL << order);
		if (!__isolate_free_page(page, order)) {
			pfn = next;
			continue;
		}
		if (use == USE_HUGETLB || use == USE_FREE_HUGETLB)
			group = pageblock_order;
		group = min(group, order);
		for (; pfn < next; pfn += 1UL << group) {
			page = pfn_to_page(pfn);
			if ((pfn >> group & 1) != second)
				__putback_isolated_page(page, group, MIGRATE_MOVABLE);
			else if (group == pageblock_order &&
				 (use == USE_HUGETLB || use == USE_FREE_HUGETLB))
				use_hugetlb(page, use);
			else
				use_group(pfn, group, use);
		}
	}
	spin_unlock_irqrestore(&zone->lock, flags);
}

/* Once: another CPU allocates pages of the block, while it may have its LRU cache. */
static void use_late(raw_spinlock_t *lock)
{
	struct zone *zone = page_zone(pfn_to_page(beside.block_pfn));
	enum memmap_use use = beside.step.late;

	if (lock != &zone->lock.rlock)
		return;
	before_lock = NULL;
	use_pages(zone, beside.block_pfn, beside.block_end_pfn,
		  use == USE_CACHED && lru_cache_disabled() ? USE_MOVABLE : use,
		  beside.step.group, beside.step.second);
}

/* As memory_block_offline() does. */
int offline_block(const struct memmap_case *c, unsigned long pfn)
{
	unsigned long taken = c->memmap_pages;
	int error;

	if (taken)
		adjust_present_page_count(pfn_to_page(pfn), NULL, -taken);
	beside.block_pfn = pfn + taken;
	beside.block_end_pfn = pfn + c->block_pages;
	before_lock = beside.step.late ? use_late : NULL;
	error = offline_pages(pfn + taken, c->block_pages - taken, zone_of(c), NULL);
	before_lock = NULL;
	if (lru_cache_disabled())
		warn_trap();
	/* That CPU's cache gets full, some time. */
	if (error && beside.step.late)
		walk_pages(beside.block_pfn, beside.block_end_pfn, leave_cache);
	if (error && taken)
		adjust_present_page_count(pfn_to_page(pfn), NULL, taken);
	else if (taken)
		mhp_deinit_memmap_on_memory(pfn, taken);
	return error;
}

/* Two users isolate the halves of a free page, which merge again. Then each gives its half back. */
static void isolate_halves(unsigned long pfn)
{
	unsigned long half = pfn + pageblock_nr_pages, end = half + pageblock_nr_pages;
	struct page *page = pfn_to_page(half);

	if (end != pfn + MAX_ORDER_NR_PAGES || !PageBuddy(pfn_to_page(pfn)) ||
	    buddy_order(pfn_to_page(pfn)) != MAX_PAGE_ORDER)
		return;
	if (start_isolate_page_range(pfn, half, PB_ISOLATE_MODE_OTHER) ||
	    start_isolate_page_range(half, end, PB_ISOLATE_MODE_OTHER) ||
	    !__isolate_free_page(page, pageblock_order))
		warn_trap();
	__putback_isolated_page(page, pageblock_order, MIGRATE_ISOLATE);
	undo_isolate_page_range(pfn, half);
	replay_event(EVENT_RESULT, (unsigned long)page, get_pageblock_migratetype(page));
	undo_isolate_page_range(half, end);
}

static void run_steps(const struct memmap_case *c)
{
	struct zone *zone = zone_of(c);
	unsigned int i;

	for (i = 0; i < c->nr_steps; i++) {
		const struct memmap_step *step = &c->steps[i];
		unsigned long pfn = c->start_pfn + c->early_pages + c->gap_pages +
				    step->block * c->block_pages;
		int error;

		/* What an offline_pages() that failed left online stays so. */
		if (is_online(pfn + c->block_pages - 1) != step->offline)
			continue;
		beside.step = *step;
		beside.steps = true;
		beside.tries = 0;
		beside.raced = false;
		error = step->offline ? offline_block(c, pfn) : online_block(c, pfn);
		/* A signal is for this step. */
		clear_tsk_thread_flag(&task, TIF_SIGPENDING);
		if (!error && !step->offline && step->use != USE_NOTHING)
			use_pages(zone, pfn + c->memmap_pages, pfn + c->block_pages, step->use,
				  step->group, step->second);
		else if (!error && !step->offline)
			isolate_halves(pfn + c->block_pages - MAX_ORDER_NR_PAGES);
		replay_event(EVENT_RESULT, (unsigned long)pfn_to_page(pfn), error);
		replay_event(EVENT_ZONE, (unsigned long)pfn_to_page(zone->zone_start_pfn),
			     zone->spanned_pages << 1 | zone->contiguous);
	}
	memset(&beside, 0, sizeof(beside));
}

void run_offline(const struct memmap_case *c)
{
	unsigned long first = c->start_pfn + c->early_pages + c->gap_pages;
	unsigned long pfn, nr_pages = c->start_pfn + c->nr_pages - first;

	if (c->nr_steps) {
		run_steps(c);
		return;
	}
	for (pfn = 0; pfn < nr_pages; pfn += c->block_pages) {
		beside.tries = 0;
		/* Behind a gap: from the end, so that the zone shrinks with each block. */
		if (offline_block(c, c->gap_pages ? first + nr_pages - c->block_pages - pfn :
						    first + pfn))
			warn_trap();
	}
}

void start_beside(bool refused)
{
	memset(&beside, 0, sizeof(beside));
	beside.step.refused = refused;
}

void use_half(const struct memmap_case *c, unsigned long pfn)
{
	if (c->used)
		use_pages(zone_of(c), pfn, c->start_pfn + c->nr_pages, c->used, 4, false);
}

/* As boot does, and without steps, all blocks come online. */
void prepare_offline(const struct memmap_case *c)
{
	struct zone *zone = zone_of(c);
	unsigned long pfn, end_pfn = c->start_pfn + c->early_pages;
	unsigned long first = end_pfn + c->gap_pages;
	unsigned long nr_pages = c->start_pfn + c->nr_pages - first;

	prepare_online(c);
	zone->present_pages = 0;
	zone->present_early_pages = 0;
	atomic_long_set(&zone->managed_pages, 0);
	if (c->early_pages) {
		for (pfn = c->start_pfn; pfn < end_pfn; pfn += PAGES_PER_SECTION)
			__pfn_to_section(pfn)->section_mem_map |=
				SECTION_IS_EARLY | SECTION_IS_ONLINE;
		init_currently_empty_zone(zone, c->start_pfn, c->early_pages);
		reserve(c, c->start_pfn, end_pfn);
		zone->spanned_pages = c->early_pages;
		zone->present_pages = c->early_pages - c->hole_pages;
		zone->present_early_pages = zone->present_pages;
		set_lists(zone, &state->pcp);
		state->pgdat.node_present_pages += zone->present_pages;
		state->pgdat.node_spanned_pages = end_pfn;
		set_zone_contiguous(zone);
	}
	memset(&beside, 0, sizeof(beside));
	if (c->nr_steps)
		return;
	/* Not by blocks: that takes long in one of the kernels. */
	if (online_pages(first, nr_pages, zone, NULL))
		warn_trap();
	use_half(c, first);
}
#endif
