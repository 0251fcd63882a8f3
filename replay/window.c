// SPDX-License-Identifier: GPL-2.0
/*
 * The stretch of address space that holds the memmap under test.
 *
 * The kernels find the entry of a pfn at vmemmap + pfn * sizeof(struct page).
 * Their vmemmap is moved so that the pfns of a case fall into one window, and
 * always by a multiple of 1 GiB: the mask encoding of compound_info takes for
 * granted that a compound's entries are naturally aligned, as in the kernel.
 */
#include <sys/mman.h>

#include "userspace.h"

static unsigned char *vmemmap;
unsigned long window_size;

void window_open(unsigned long bytes)
{
	window_size = bytes + GIB;	/* a pfn falls anywhere in the first GiB */
	/* The kernel maps its memmap with huge pages; failing that, small ones. */
	madvise(map_at(WINDOW_START, window_size), window_size, MADV_HUGEPAGE);
}

unsigned char *window_place(unsigned long pfn)
{
	unsigned long offset = pfn * layout->page_struct_size;

	vmemmap = (unsigned char *)(WINDOW_START - offset / GIB * GIB);
	for (unsigned int i = 0; i < nr_kernels; i++)
		kernels[i].side->place(vmemmap);
	return entry(pfn);
}

unsigned char *entry(unsigned long pfn)
{
	return vmemmap + pfn * layout->page_struct_size;
}

unsigned long pfn_of(const void *address)
{
	return (unsigned long)((const unsigned char *)address - vmemmap) / layout->page_struct_size;
}
