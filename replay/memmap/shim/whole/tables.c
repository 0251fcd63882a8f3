// SPDX-License-Identifier: GPL-2.0
/* Page tables: of the memmap, and of the direct map. They are written, but no CPU uses them. */
#include <linux/mm.h>
#include <asm/paravirt.h>

#include "../arch/x86/mm/mm_internal.h"
#include "../kernel.h"

unsigned long phys_base;
unsigned int pgdir_shift = 39, ptrs_per_p4d = 1;
phys_addr_t physical_mask = (1ULL << 52) - 1;
LIST_HEAD(pgd_list);
DEFINE_SPINLOCK(pgd_lock);
struct mm_struct init_mm;
int after_bootmem = 1;
#ifdef CONFIG_AMD_MEM_ENCRYPT
u64 sme_me_mask;
#endif
/* Of vmstat.o. */
extern atomic_long_t nr_memmap_pages;

STUB(pv_alloc, BIND);

#ifdef CONFIG_PARAVIRT_XXL
/* Keeps all registers but RAX. */
asm("	.pushsection .text\n"
	"	.globl pv_same, pv_store\n"
	"pv_same: mov %rdi, %rax\n"
	RETURN
	"pv_store: mov %rsi, (%rdi)\n"
	RETURN
	"	.popsection\n");
extern char pv_same[], pv_store[], pv_alloc[];
#define SAME	{ (void *)pv_same }
#define STORE	((void *)pv_store)
#define ALLOC	((void *)pv_alloc)

/* As natively booted; boot.c makes direct calls of these. */
struct paravirt_patch_template pv_ops = {
	.mmu = {
		.pte_val = SAME, .make_pte = SAME, .pmd_val = SAME, .make_pmd = SAME,
		.pud_val = SAME, .make_pud = SAME, .pgd_val = SAME, .make_pgd = SAME,
		.p4d_val = SAME, .make_p4d = SAME,
		.set_pte = STORE, .set_pmd = STORE, .set_pud = STORE, .set_p4d = STORE,
		.set_pgd = STORE,
		.alloc_pte = ALLOC, .alloc_pmd = ALLOC, .alloc_pud = ALLOC, .alloc_p4d = ALLOC,
	},
};
#endif

/* As of arch/x86/mm/init.c, after boot. */
void *alloc_low_pages(unsigned int num)
{
	unsigned int order = get_order(num << PAGE_SHIFT);

	return page_address(alloc_pages_node(0, GFP_ATOMIC | __GFP_ZERO, order));
}

#ifdef CONFIG_PROC_FS
static unsigned long direct_pages;

void update_page_count(int level, unsigned long pages)
{
	direct_pages += pages << (level - 1) * PTE_SHIFT;
}
#endif

void forget_tables(void)
{
	atomic_long_set(&nr_memmap_pages, 0);
#ifdef CONFIG_PROC_FS
	direct_pages = 0;
#endif
}

unsigned long find_entry(unsigned long addr)
{
	p4d_t *p4d = p4d_offset(pgd_offset_k(addr), addr);
	pud_t *pud = p4d_none(*p4d) ? NULL : pud_offset(p4d, addr);
	pmd_t *pmd = !pud || pud_none(*pud) ? NULL : pmd_offset(pud, addr);
	unsigned long entry = pmd ? pmd_val(*pmd) : 0;

	return entry && !pmd_leaf(*pmd) ? pte_val(*pte_offset_kernel(pmd, addr)) : entry;
}

void *find_memory(const struct memmap_case *c, unsigned long addr)
{
	unsigned long entry = find_entry(addr), pfn = (entry & PTE_PFN_MASK) >> PAGE_SHIFT;

	if (entry & _PAGE_PSE)
		pfn += pte_index(addr);
	return pfn < c->ram_pfn ? NULL : __va(PFN_PHYS(pfn));
}

/* What the kernel wrote through page tables, if somebody used them, is in that memory, too. */
static void write_memory(const struct memmap_case *c)
{
	unsigned long addr = (unsigned long)pfn_to_page(c->start_pfn);
	unsigned long end = (unsigned long)pfn_to_page(c->start_pfn + c->nr_pages);

	for (; addr < end; addr += PAGE_SIZE) {
		struct page *from = (struct page *)addr, *to = find_memory(c, addr);

		for (unsigned int i = 0; to && i < PAGE_SIZE / sizeof(*to); i++)
			/* Else it is as poisoned. */
			if (from[i].flags.f != ULONG_MAX)
				to[i] = from[i];
	}
}

/*
 * The page of an entry by its rank among those that were met: which one the allocator
 * gives does not matter. Pages of a device are themselves.
 */
static unsigned long rank(const struct memmap_case *c, unsigned long pfn)
{
	static struct { unsigned int walk, rank; } ranks[1 << 18];
	static unsigned int walk, met;

	if (!pfn) {
		walk++;
		met = 0;
	}
	if (pfn - c->ram_pfn >= ARRAY_SIZE(ranks))
		return pfn;
	if (ranks[pfn - c->ram_pfn].walk != walk) {
		ranks[pfn - c->ram_pfn].walk = walk;
		ranks[pfn - c->ram_pfn].rank = met++;
	}
	return ranks[pfn - c->ram_pfn].rank;
}

unsigned long sum(const unsigned long *words)
{
	unsigned long sum = 0;

	for (unsigned int i = 0; i < PAGE_SIZE / sizeof(*words); i++)
		sum = sum * 31 + words[i];
	return sum;
}

void walk_tables(const struct memmap_case *c, bool known)
{
	unsigned long start = (unsigned long)pfn_to_page(c->start_pfn - c->beside_pages), addr;
	unsigned long end_pfn = c->start_pfn + c->nr_pages + c->beside_pages;

	if (known)
		write_memory(c);
	rank(c, 0);
	for (addr = start; addr < (unsigned long)pfn_to_page(end_pfn); addr += PAGE_SIZE) {
		unsigned long entry = find_entry(addr), pfn = (entry & PTE_PFN_MASK) >> PAGE_SHIFT;
		void *memory = find_memory(c, addr);

		if (!entry)
			continue;
		replay_event(EVENT_ENTRY, addr,
			     (entry & ~PTE_PFN_MASK) | rank(c, pfn) << PAGE_SHIFT);
		if (memory)
			replay_event(EVENT_REFERENCES, addr, page_count(pfn_to_page(pfn)));
		if (memory && known)
			replay_event(EVENT_CONTENT, addr, sum(memory));
	}
	replay_event(EVENT_COUNTED, start, atomic_long_read(&nr_memmap_pages));
#ifdef CONFIG_PROC_FS
	replay_event(EVENT_COUNTED, start, direct_pages);
#endif
}
