// SPDX-License-Identifier: GPL-2.0
/*
 * Fill memory with a pattern that depends on the address, and then read it all. One
 * word of 64 bytes is enough to meet any struct page that lies there by mistake.
 *
 *	fill small MIB	in pages of the smallest size
 *	fill huge MIB	in transparent huge pages, where there are any
 *	fill 2M MIB	in pages of hugetlb
 *	fill 1G MIB
 */
#define _GNU_SOURCE
#include <err.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define STEP 8
#define HUGETLB(shift) (MAP_HUGETLB | (shift) << 26)

static uint64_t pattern(const uint64_t *word)
{
	return (uintptr_t)word * 0x9e3779b97f4a7c15;
}

int main(int argc, char **argv)
{
	const char *kind = argc == 3 ? argv[1] : "";
	size_t size = argc == 3 ? strtoul(argv[2], NULL, 10) << 20 : 0;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS, advice = 0;
	uint64_t *words;

	if (!strcmp(kind, "small") || !strcmp(kind, "huge"))
		advice = *kind == 's' ? MADV_NOHUGEPAGE : MADV_HUGEPAGE;
	else if (!strcmp(kind, "2M") || !strcmp(kind, "1G"))
		flags |= HUGETLB(*kind == '2' ? 21 : 30);
	else
		errx(2, "usage: fill small|huge|2M|1G MIB");
	words = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (words == MAP_FAILED)
		err(1, "cannot map %zu bytes", size);
	if (advice && madvise(words, size, advice))
		err(1, "cannot choose the size of pages");
	/* A read would map the page of zeroes first. */
	if (madvise(words, size, MADV_POPULATE_WRITE))
		err(1, "cannot allocate %zu bytes", size);
	for (size_t i = 0; i < size / sizeof(*words); i += STEP) {
		if (words[i])
			errx(1, "word %zu is not 0 before it is written", i);
		words[i] = pattern(words + i);
	}
	for (size_t i = 0; i < size / sizeof(*words); i += STEP)
		if (words[i] != pattern(words + i))
			errx(1, "word %zu is wrong", i);
	return 0;
}
