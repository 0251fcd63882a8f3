// SPDX-License-Identifier: GPL-2.0
/*
 * Hold memory, filled with a pattern, and go through steps while others move it.
 *
 *	hold MIB KIND [STEP...]
 *
 * KIND is small or huge, for small or transparent huge pages; 2M or 1G, for pages of
 * hugetlb; or a device, which keeps its data until it is told to write. A STEP is
 *
 *	run COMMAND	by the shell; how it ends does not matter
 *	bind NODE	what it and its commands allocate from here on
 *	move NODE	move all pages there by move_pages()
 *	mbind NODE	the same by mbind()
 *	where		say how many pages lie on each node
 *	wait NODE	until all pages lie there
 *	touch NODE	the same, but read all of the memory again and again
 *	write		the pattern
 *	verify		every byte
 *	urgent		from here on, as a real-time task
 *	poison PAGE	by the kernel's injector
 *	told PAGE	reading the page must end in SIGBUS
 *	pin PAGE	by a pipe, so that it cannot be moved
 *	holes		give back every other page
 *	stay		for good, in the background
 *
 * Without a STEP, the memory must be 0 before, and one word of each 64 bytes is written
 * and verified. That is enough to meet any struct page that lies there by mistake.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE		4096UL
#define WORDS		(PAGE / sizeof(uint64_t))
#define CHUNK		1024
#define MAX_NODES	8
#define MPOL_BIND	2
#define MPOL_MF_MOVE	(1 << 1)

static uint64_t *memory;
static size_t size, stride = 1, seed;
static unsigned long poisoned = ~0UL, on_node[MAX_NODES];
static sigjmp_buf escape;

/* Of anonymous memory, no two runs have the same: its pages may come back with old bytes. */
static uint64_t pattern(size_t word)
{
	return (seed + word + 1) * 0x9e3779b97f4a7c15;
}

static void fill(void)
{
	for (size_t i = 0; i < size / sizeof(*memory); i += stride)
		memory[i] = pattern(i);
}

static void verify(void)
{
	for (size_t i = 0; i < size / sizeof(*memory); i += stride)
		if (i / WORDS != poisoned && memory[i] != pattern(i))
			errx(1, "page %zu: %#llx, not %#llx", i / WORDS,
			     (unsigned long long)memory[i], (unsigned long long)pattern(i));
}

static void map(const char *kind)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS, advice = MADV_NORMAL, fd = -1;

	if (*kind == '/') {
		flags = MAP_SHARED;
		fd = open(kind, O_RDWR);
		if (fd < 0)
			err(1, "cannot open %s", kind);
	} else if (!strcmp(kind, "2M") || !strcmp(kind, "1G")) {
		flags |= MAP_HUGETLB | (*kind == '2' ? 21 : 30) << MAP_HUGE_SHIFT;
	} else if (!strcmp(kind, "small") || !strcmp(kind, "huge")) {
		advice = *kind == 's' ? MADV_NOHUGEPAGE : MADV_HUGEPAGE;
	} else {
		errx(2, "%s: no such kind of page", kind);
	}
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (memory == MAP_FAILED || madvise(memory, size, advice))
		err(1, "cannot map %zu bytes of %s", size, kind);
	if (fd < 0)
		seed = (uintptr_t)memory / sizeof(*memory);
	else
		close(fd);
}

static void must_be_zero(void)
{
	/* A read would map the page of zeroes first. */
	if (madvise(memory, size, MADV_POPULATE_WRITE))
		err(1, "cannot allocate %zu bytes", size);
	for (size_t i = 0; i < size / sizeof(*memory); i += stride)
		if (memory[i])
			errx(1, "word %zu is not 0 before it is written", i);
}

/* Move all pages to @node, or none if it is negative; count those on each node. */
static void place(int node)
{
	int status[CHUNK], nodes[CHUNK];
	void *pages[CHUNK];

	memset(on_node, 0, sizeof(on_node));
	for (unsigned long page = 0; page < size / PAGE; page += CHUNK) {
		unsigned long n = size / PAGE - page < CHUNK ? size / PAGE - page : CHUNK;

		for (unsigned long i = 0; i < n; i++) {
			pages[i] = memory + (page + i) * WORDS;
			nodes[i] = node;
		}
		if (syscall(SYS_move_pages, 0, n, pages, node < 0 ? NULL : nodes, status,
			    MPOL_MF_MOVE) < 0)
			err(1, "move_pages");
		for (unsigned long i = 0; i < n; i++)
			if (status[i] >= 0 && status[i] < MAX_NODES)
				on_node[status[i]]++;
	}
}

static void where(void)
{
	place(-1);
	for (int node = 0; node < MAX_NODES; node++)
		if (on_node[node])
			printf("node %d: %lu\n", node, on_node[node]);
	fflush(stdout);
}

/* Until all pages are on @node. After five minutes, SIGALRM ends the program, and so the check. */
static void wait_for(int node, int touching)
{
	alarm(300);
	for (place(-1); on_node[node] != size / PAGE; place(-1))
		if (touching)
			verify();
		else
			sleep(1);
	alarm(0);
}

static void told(int signal)
{
	(void)signal;
	siglongjmp(escape, 1);
}

/* Poison a page, for which the kernel sends a SIGBUS at once, or read one that is. */
static void be_told(unsigned long page, int inject)
{
	uint64_t *bad = memory + page * WORDS;

	poisoned = page;
	signal(SIGBUS, told);
	if (sigsetjmp(escape, 1))
		return;
	if (!inject) {
		(void)*(volatile uint64_t *)bad;
		errx(1, "page %lu can be read", page);
	}
	if (madvise(bad, PAGE, MADV_HWPOISON))
		err(1, "cannot poison page %lu", page);
}

/* The pipe is never read, and lasts as long as this process. */
static void pin(unsigned long page)
{
	struct iovec one = { memory + page * WORDS, PAGE };
	int ends[2];

	if (pipe(ends) || vmsplice(ends[1], &one, 1, 0) != PAGE)
		err(1, "cannot pin page %lu", page);
}

static void make_holes(void)
{
	for (size_t at = 0; at < size; at += 2 * PAGE)
		if (madvise((char *)memory + at, PAGE, MADV_DONTNEED))
			err(1, "cannot give back the page at %zu", at);
}

int main(int argc, char **argv)
{
	size = argc < 3 ? 0 : strtoul(argv[1], NULL, 10) << 20;
	if (!size)
		errx(2, "usage: hold MIB small|huge|2M|1G|DEVICE [STEP...]");
	if (argc == 3)
		stride = 8;
	map(argv[2]);
	if (*argv[2] != '/') {
		/* To populate memory marks it accessed, so that reclaim passes small pages by. */
		if (argc == 3)
			must_be_zero();
		fill();
	}
	if (argc == 3)
		verify();
	for (char **step = argv + 3; *step; step++) {
		if (!strcmp(*step, "where")) {
			where();
		} else if (!strcmp(*step, "write")) {
			fill();
		} else if (!strcmp(*step, "verify")) {
			verify();
		} else if (!strcmp(*step, "holes")) {
			make_holes();
		} else if (!strcmp(*step, "urgent")) {
			if (sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ 1 }))
				err(1, "cannot become a real-time task");
		} else if (!strcmp(*step, "stay")) {
			/* The parent ends when the child has what it is to keep. */
			if (!daemon(0, 0))
				pause();
		} else if (!step[1]) {
			errx(2, "%s: of what?", *step);
		} else if (!strcmp(*step, "run")) {
			if (system(*++step) < 0)
				err(1, "cannot run a shell");
		} else if (!strcmp(*step, "bind")) {
			unsigned long mask = 1UL << atoi(*++step);

			if (syscall(SYS_set_mempolicy, MPOL_BIND, &mask, 8 * sizeof(mask)))
				err(1, "set_mempolicy");
		} else if (!strcmp(*step, "mbind")) {
			unsigned long mask = 1UL << atoi(*++step);

			if (syscall(SYS_mbind, memory, size, MPOL_BIND, &mask, 8 * sizeof(mask),
				    MPOL_MF_MOVE))
				err(1, "mbind");
		} else if (!strcmp(*step, "move")) {
			place(atoi(*++step));
		} else if (!strcmp(*step, "wait")) {
			wait_for(atoi(*++step), 0);
		} else if (!strcmp(*step, "touch")) {
			wait_for(atoi(*++step), 1);
		} else if (!strcmp(*step, "poison")) {
			be_told(strtoul(*++step, NULL, 10), 1);
		} else if (!strcmp(*step, "told")) {
			be_told(strtoul(*++step, NULL, 10), 0);
		} else if (!strcmp(*step, "pin")) {
			pin(strtoul(*++step, NULL, 10));
		} else {
			errx(2, "%s: no such step", *step);
		}
	}
	return 0;
}
