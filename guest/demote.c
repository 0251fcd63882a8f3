// SPDX-License-Identifier: GPL-2.0
/*
 * Hold memory and go through steps, while others move it from node to node.
 *
 *	demote MIB small|huge|hugetlb STEP...
 *
 *	run COMMAND	by the shell; how it ends does not matter
 *	move NODE	move all pages there by move_pages()
 *	where		say how many pages lie on each node
 *	wait NODE	until all pages lie there, for five minutes at most
 *	touch NODE	the same, but read all of the memory again and again
 *	verify		every byte
 *	urgent		from here on, as a real-time task
 *	poison PAGE	by the kernel's injector
 *	told PAGE	reading the page must end in SIGBUS
 */
#define _GNU_SOURCE
#include <err.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE		4096UL
#define WORDS		(PAGE / sizeof(uint64_t))
#define CHUNK		1024
#define MAX_NODES	8
#define SECONDS		300
#define MPOL_MF_MOVE	(1 << 1)

static uint64_t *memory;
static unsigned long nr_pages;
static unsigned long poisoned = ~0UL;
static sigjmp_buf escape;

static uint64_t pattern(const uint64_t *word)
{
	return ((uintptr_t)word + 1) * 0x9e3779b97f4a7c15;
}

static void allocate(const char *kind)
{
	int hugetlb = !strcmp(kind, "hugetlb");
	unsigned long size = nr_pages * PAGE;

	memory = hugetlb ? mmap(NULL, size, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0) :
			   aligned_alloc(2 << 20, size);
	if (!memory || memory == MAP_FAILED)
		err(1, "cannot allocate %lu pages", nr_pages);
	if (!hugetlb &&
	    madvise(memory, size, strcmp(kind, "huge") ? MADV_NOHUGEPAGE : MADV_HUGEPAGE))
		err(1, "cannot choose the size of pages");
	for (uint64_t *word = memory; word < memory + nr_pages * WORDS; word++)
		*word = pattern(word);
}

static void verify(void)
{
	for (unsigned long page = 0; page < nr_pages; page++)
		for (uint64_t *word = memory + page * WORDS;
		     page != poisoned && word < memory + (page + 1) * WORDS; word++)
			if (*word != pattern(word))
				errx(1, "page %lu: %#llx, not %#llx", page,
				     (unsigned long long)*word, (unsigned long long)pattern(word));
}

/* Move all pages to @node, or none if it is negative; count those on each node. */
static void place(int node, unsigned long on_node[MAX_NODES])
{
	int status[CHUNK], nodes[CHUNK];
	void *pages[CHUNK];

	memset(on_node, 0, MAX_NODES * sizeof(*on_node));
	for (unsigned long page = 0; page < nr_pages; page += CHUNK) {
		unsigned long n = nr_pages - page < CHUNK ? nr_pages - page : CHUNK;

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
	unsigned long on_node[MAX_NODES];

	place(-1, on_node);
	for (int node = 0; node < MAX_NODES; node++)
		if (on_node[node])
			printf("node %d: %lu\n", node, on_node[node]);
	fflush(stdout);
}

static void wait_for(int node, int touching)
{
	time_t end = time(NULL) + SECONDS;
	unsigned long on_node[MAX_NODES];

	for (;;) {
		place(-1, on_node);
		if (on_node[node] == nr_pages)
			return;
		if (time(NULL) > end)
			errx(1, "%lu of %lu pages are on node %d", on_node[node], nr_pages, node);
		if (touching)
			verify();
		else
			sleep(1);
	}
}

static void told(int signal)
{
	(void)signal;
	siglongjmp(escape, 1);
}

/* The kernel sends a SIGBUS at once. */
static void poison(unsigned long page)
{
	poisoned = page;
	signal(SIGBUS, told);
	if (!sigsetjmp(escape, 1) && madvise(memory + page * WORDS, PAGE, MADV_HWPOISON))
		err(1, "cannot poison page %lu", page);
}

static void must_be_told(unsigned long page)
{
	poisoned = page;
	signal(SIGBUS, told);
	if (!sigsetjmp(escape, 1)) {
		(void)*(volatile uint64_t *)(memory + page * WORDS);
		errx(1, "page %lu can be read", page);
	}
}

int main(int argc, char **argv)
{
	unsigned long on_node[MAX_NODES];

	if (argc < 3)
		errx(2, "usage: demote MIB small|huge|hugetlb STEP...");
	nr_pages = strtoul(argv[1], NULL, 10) << (20 - 12);
	allocate(argv[2]);
	for (char **step = argv + 3; *step; step++) {
		if (!strcmp(*step, "where")) {
			where();
		} else if (!strcmp(*step, "verify")) {
			verify();
		} else if (!strcmp(*step, "urgent")) {
			if (sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ 1 }))
				err(1, "cannot become a real-time task");
		} else if (!step[1]) {
			errx(2, "%s: of what?", *step);
		} else if (!strcmp(*step, "run")) {
			if (system(*++step) < 0)
				err(1, "cannot run a shell");
		} else if (!strcmp(*step, "move")) {
			place(atoi(*++step), on_node);
		} else if (!strcmp(*step, "wait")) {
			wait_for(atoi(*++step), 0);
		} else if (!strcmp(*step, "touch")) {
			wait_for(atoi(*++step), 1);
		} else if (!strcmp(*step, "poison")) {
			poison(strtoul(*++step, NULL, 10));
		} else if (!strcmp(*step, "told")) {
			must_be_told(strtoul(*++step, NULL, 10));
		} else {
			errx(2, "%s: no such step", *step);
		}
	}
	return 0;
}
