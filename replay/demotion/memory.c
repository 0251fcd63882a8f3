// SPDX-License-Identifier: GPL-2.0
/*
 * Pages to copy: their data, their struct pages, and what a page without access
 * does. The kernel's exception tables are honoured as its fault handler would.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "userspace.h"

#define DATA_START	(48UL << 40)

/* The kernel's format: distances from each field, and the type of the handler. */
struct exception {
	int32_t insn, fixup, data;
};

/* Of all kernels, one behind the other; the linker provides both. */
extern const struct exception __start___ex_table[], __stop___ex_table[];

static struct sigaction unexpected;

unsigned long poisoned = NOT_POISONED;

void demotion_poisoned(unsigned long pfn)
{
	poisoned = pfn;
}

unsigned char *data(unsigned long pfn)
{
	return (unsigned char *)DATA_START + pfn * PAGE;
}

static void fault(int signal, siginfo_t *info, void *context)
{
	greg_t *ip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	const struct exception *e;

	for (e = __start___ex_table; e < __stop___ex_table; e++)
		if ((greg_t)&e->insn + e->insn == *ip) {
			*ip = (greg_t)&e->fixup + e->fixup;
			return;
		}
	unexpected.sa_sigaction(signal, info, context);
}

void memory_open(unsigned long pages)
{
	struct sigaction action = { .sa_sigaction = fault, .sa_flags = SA_SIGINFO };
	unsigned long bytes = pages * PAGE;

	/* The kernel maps its memory with huge pages; failing that, small ones. */
	madvise(map_at(DATA_START, bytes), bytes, MADV_HUGEPAGE);
	window_open(pages * layout->page_struct_size);
	window_place(0);
	for (unsigned int i = 0; i < nr_kernels; i++)
		demotion_side(&kernels[i])->place_data((void *)DATA_START);
	sigaction(SIGSEGV, &action, &unexpected);
}
