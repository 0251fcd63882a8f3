// SPDX-License-Identifier: GPL-2.0
/*
 * Memory, what fills it, and the stretch of address space that holds the memmap under test.
 *
 * The kernels find the entry of a pfn at vmemmap + pfn * sizeof(struct page). Their vmemmap is
 * moved so that the pfns of a case fall into one window, and always by a multiple of 1 GiB: the
 * mask encoding of compound_info takes for granted that a compound's entries are naturally
 * aligned, as in the kernel.
 */
#include <string.h>
#include <sys/mman.h>
#ifdef __x86_64__
#include <emmintrin.h>
#endif

#include "host.h"

static unsigned char *vmemmap;
unsigned long window_size;

void *map_at(unsigned long where, size_t bytes)
{
	void *made = mmap((void *)where, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			  MAP_ANONYMOUS | MAP_NORESERVE | (where ? MAP_FIXED_NOREPLACE : 0), -1, 0);

	if (made == MAP_FAILED || (where && made != (void *)where)) {
		char overcommit[8];

		/* If it is 2, the kernel allows no more than it could give. */
		read_value("/proc/sys/vm/overcommit_memory", "", overcommit, sizeof(overcommit));
		die("cannot map %zu MiB: %s", bytes / MIB, *overcommit == '2' ?
		    "have vm.overcommit_memory=0" : "free some memory, or raise ulimit -v");
	}
	return made;
}

void window_open(unsigned long bytes)
{
	if (window_size)
		munmap((void *)WINDOW_START, window_size);
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

/* splitmix64: depends on the seed alone */
uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

unsigned long below(uint64_t *state, unsigned long n)
{
	return next_random(state) % n;
}

void fill_random(unsigned char *start, unsigned long bytes, uint64_t seed)
{
	for (unsigned long i = 0; i < bytes; i += 8) {
		uint64_t r = next_random(&seed);

		memcpy(start + i, &r, bytes - i < 8 ? bytes - i : 8);
	}
}

void stream(unsigned char *start, unsigned long bytes)
{
#ifdef __x86_64__
	long long *end = (long long *)(start + bytes);

	for (long long *p = (long long *)start; p < end; p += 8)
#pragma GCC unroll 8
		for (int i = 0; i < 8; i++)
			_mm_stream_si64(p + i, i + 1);
#else
	memset(start, 1, bytes);
#endif
}

void stream_end(void)
{
#ifdef __x86_64__
	_mm_sfence();
#endif
}
