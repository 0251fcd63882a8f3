// SPDX-License-Identifier: GPL-2.0
/*
 * Folios to a lower tier. Every byte of their copies: of each order, to both tiers, then with a
 * page that cannot be read, then pages of which a part cannot be read. Their order: one thread
 * copies a folio and then publishes a number by a plain store; the other waits for the number and
 * looks at the copy, where non-temporal stores that are not drained show as old words. Their
 * speed: batches of folios in random order over several GiB, and how long it takes to read other
 * data again after each batch, for each size of that data.
 *
 * The series streams PMD-sized folios to the lower tier and nothing else, and does not zero what
 * it streams to. A page without access is one that cannot be read. The kernel's exception tables
 * are honoured as its fault handler would.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "program.h"

#define PAGE		4096UL
#define LINE		64UL
#define MAX_ORDER	9		/* PMD-sized */
#define AREA		(1UL << MAX_ORDER)
#define FROM		AREA		/* aligned, with room on both sides */
#define TO		(3 * AREA)
#define AROUND		(5 * AREA)
#define NOT_POISONED	(~0UL)

/* The kernel's format: distances from each field, and the type of the handler. */
struct exception {
	int32_t insn, fixup, data;
};

/* Of all kernels, one behind the other; the linker provides both. */
extern const struct exception __start___ex_table[], __stop___ex_table[];

static struct sigaction unexpected;
/* The page that a kernel reported last */
static unsigned long poisoned;
static unsigned char *before;

void replay_poisoned(unsigned long pfn)
{
	poisoned = pfn;
}

/* The data of a page */
static unsigned char *data(unsigned long pfn)
{
	return (unsigned char *)COPY_DATA + pfn * PAGE;
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

/* From here on, a fault in the kernels' code continues at its fixup. */
static void open_folios(unsigned long pages)
{
	struct sigaction action = { .sa_sigaction = fault, .sa_flags = SA_SIGINFO };
	static unsigned long mapped;

	if (mapped)
		munmap(data(0), mapped);
	else
		sigaction(SIGSEGV, &action, &unexpected);
	mapped = pages * PAGE;
	/* The kernel maps its memory with huge pages; failing that, small ones. */
	madvise(map_at(COPY_DATA, mapped), mapped, MADV_HUGEPAGE);
	window_open(pages * layout->page_struct_size);
	window_place(0);
}

/*
 * The source and the page behind it are random, the rest is another byte. @before is
 * what must be there at the end.
 */
static void fill(uint64_t seed)
{
	memset(data(0), 0xa5, AROUND * PAGE);
	fill_random(data(FROM), (AREA + 1) * PAGE, seed);
	memcpy(before, data(0), AROUND * PAGE);
}

static int tell(const struct copy_folio *c, const char *what)
{
	printf("DIFFERS order=%u from_lower=%u lower=%u: %s: %s\n", c->order, c->from_lower,
	       c->lower, crash_kernel, what);
	return 1;
}

static bool same(void)
{
	return !memcmp(data(0), before, AROUND * PAGE);
}

static bool streams(unsigned int kernel, const struct copy_folio *c)
{
	return kernel && c->order == MAX_ORDER && c->lower && !c->from_lower;
}

/* Only the first @good pages can be read. */
static int check_folio(unsigned int kernel, const struct copy_folio *c, unsigned long good)
{
	const struct copy_side *side = side_of(kernel);
	unsigned long nr = 1UL << c->order, streamed = *side->streamed;
	bool bad = good < nr;
	int done;

	fill(c->order + 1);
	side->prepare(c);
	memcpy(before + TO * PAGE, before + FROM * PAGE, good * PAGE);
	poisoned = NOT_POISONED;
	mprotect(data(FROM + good), bad * PAGE, PROT_NONE);
	done = side->run(c);
	mprotect(data(FROM + good), bad * PAGE, PROT_READ | PROT_WRITE);
	if (done != (bad ? -EHWPOISON : 0))
		return tell(c, bad ? "a page that cannot be read is not told" : "fails");
	if (poisoned != (bad ? FROM + good : NOT_POISONED))
		return tell(c, bad ? "the wrong page is reported" : "reports a page");
	if (!same())
		return tell(c, bad ? "wrong bytes around a page that cannot be read" :
			       "wrong bytes");
	streamed = *side->streamed - streamed;
	if (!streams(kernel, c))
		return streamed ? tell(c, "streams what it must not") : 0;
	/* A page that cannot be read counts, too. */
	return streamed == good + bad ? 0 : tell(c, "does not stream to the lower tier");
}

/* The last @left bytes of the page cannot be read. */
static int check_part(unsigned int kernel, unsigned long left)
{
	struct copy_folio c = { .lower = 1 };
	unsigned long told;

	fill(left + 1);
	memcpy(before + TO * PAGE, before + FROM * PAGE + left, PAGE - left);
	mprotect(data(FROM + 1), PAGE, PROT_NONE);
	told = side_of(kernel)->copy_page(data(TO), data(FROM) + left);
	mprotect(data(FROM + 1), PAGE, PROT_READ | PROT_WRITE);
	if (told != left)
		return tell(&c, "the wrong number of bytes is left");
	return same() ? 0 : tell(&c, "wrong bytes in part of a page");
}

int check_folios(int nr, char **words)
{
	unsigned long cases = 0;
	int bad = 0;

	open_folios(AROUND + AREA);
	before = map_at(0, AROUND * PAGE);
	crash_context = "folios";
	for (unsigned int i = 0; i < nr_kernels; i++) {
		crash_kernel = kernels[i].name;
		for (unsigned int order = 0; order <= MAX_ORDER; order++)
			for (unsigned int nodes = 0; nodes < 4; nodes++, cases += 4) {
				struct copy_folio c = { FROM, TO, order, nodes & 1, nodes / 2 };

				bad |= check_folio(i, &c, 1UL << order);
				bad |= check_folio(i, &c, 0);
				bad |= check_folio(i, &c, (1UL << order) - 1);
				bad |= check_folio(i, &c, (1UL << order) / 2);
			}
		for (unsigned long left = 0; left <= PAGE; left += 64, ++cases)
			bad |= check_part(i, left);
	}
	printf("%lu folios: ", cases);
	puts(bad ? "some differ" : "every byte as it must be");
	return bad;
}

#define WORDS	(AREA * PAGE / sizeof(uint64_t))

/* Each in a cache line of its own. */
static struct {
	unsigned long round __attribute__((aligned(64)));
	unsigned long seen __attribute__((aligned(64)));
	unsigned long stale __attribute__((aligned(64)));
} told;

static const struct copy_folio published = {
	.from = AREA, .to = 2 * AREA, .order = MAX_ORDER, .lower = 1
};

/* Wait until the other thread writes to @number. If it waits for this CPU, give way. */
static unsigned long wait_for(const unsigned long *number, unsigned long old)
{
	unsigned long spins = 0, new;

	while ((new = __atomic_load_n(number, __ATOMIC_ACQUIRE)) == old)
		if (++spins % 10000 == 0)
			sched_yield();
	return new;
}

static void look(void *unused)
{
	const volatile uint64_t *words = (const uint64_t *)data(published.to);
	unsigned long last = 0;

	for (;;) {
		unsigned long round = wait_for(&told.round, last), i = WORDS;

		/* What was copied last comes first: it is the latest to be seen. */
		while (i && words[i - 1] == round)
			i--;
		told.stale += i > 0;
		last = round;
		__atomic_store_n(&told.seen, round, __ATOMIC_RELEASE);
	}
}

int publish_folios(int nr, char **words)
{
	unsigned long rounds = read_word(nr, words, 0, 2000);
	uint64_t *source = (uint64_t *)data(published.from);
	int bad = 0;

	if (threads_start_all() < 2)
		die("needs two CPUs");
	open_folios(3 * AREA);
	replay_queue(look, &told);
	crash_context = "publish";
	for (unsigned int kernel = 0; kernel < nr_kernels; kernel++) {
		crash_kernel = kernels[kernel].name;
		side_of(kernel)->prepare(&published);
		told.stale = 0;
		for (unsigned long i = 0; i < rounds; i++) {
			unsigned long round = told.round + 1, seen = told.seen;

			for (unsigned long word = 0; word < WORDS; word++)
				source[word] = round;
			side_of(kernel)->run(&published);
			__atomic_store_n(&told.round, round, __ATOMIC_RELEASE);
			wait_for(&told.seen, seen);
		}
		printf("%s: %lu of %lu copies had old words\n", crash_kernel, told.stale, rounds);
		bad |= told.stale > 0;
	}
	return bad;
}

/* As reclaim demotes at once: SWAP_CLUSTER_MAX pages, or one larger folio. */
#define BATCH_PAGES(order)	((order) > 5 ? 1UL << (order) : 32UL)
#define MAX_BATCH		32		/* folios */
#define MAX_BATCHES		1000

static const unsigned int orders[] = { 0, 4, 9 };
#define NR_ORDERS	(sizeof(orders) / sizeof(*orders))
/* KiB of the other data; 0: the copies themselves are read. */
static const unsigned long others[] = { 32, 256, 1024, 4096, 16384, 65536, 262144, 0 };
#define NR_OTHERS	(sizeof(others) / sizeof(*others))
#define LARGEST		262144UL

static unsigned long half;		/* pages to copy from, then as many to copy to */
static unsigned char *other;
static uint64_t seed = 1;

/* Of a row: init_on_alloc first, as it is Debian's default */
static struct row {
	bool zeroed;
	unsigned int order;
	unsigned long kib;
} row_of(unsigned int row)
{
	return (struct row) {
		row < NR_ORDERS * NR_OTHERS, orders[row / NR_OTHERS % NR_ORDERS],
		others[row % NR_OTHERS]
	};
}

/* Each line once, in an order that no prefetcher follows: @bytes is a power of 2. */
static double read_lines(const unsigned char *start, unsigned long bytes)
{
	unsigned long lines = bytes / LINE, at = 0, sum = 0;
	double from = cpu_time();

	for (unsigned long i = 0; i < lines; i++) {
		at = (at * 5 + 1) & (lines - 1);
		sum += *(const volatile unsigned long *)(start + at * LINE);
	}
	return (cpu_time() - from) / lines;
}

/* The bytes of each copy that no later one of the batch has overwritten. */
static void verify(const struct copy_folio *c, unsigned long folios)
{
	for (unsigned long i = 0; i < folios; i++) {
		unsigned long later = i + 1;

		while (later < folios && c[later].to != c[i].to)
			later++;
		if (later == folios && memcmp(data(c[i].to), data(c[i].from), PAGE << c[i].order))
			die("%s: wrong bytes in a folio of order %u", crash_kernel, c[i].order);
	}
}

/* Medians of the batches: ns per page that is allocated and copied, ns per line read. */
static void time_one(unsigned int number, unsigned int runner, unsigned int round,
		     double *figures)
{
	struct row row = row_of(number);
	const struct copy_side *side = side_of(runner);
	unsigned long pages = BATCH_PAGES(row.order), folios = pages >> row.order;
	/* Up to 64 MiB are copied in a round, and up to 512 MiB read. */
	unsigned long batches = 64 * MIB / PAGE / pages, slots = half >> row.order;
	double copy[MAX_BATCHES], read[MAX_BATCHES];
	struct copy_folio c[MAX_BATCH];

	if (row.kib && batches > 512 * 1024 / row.kib)
		batches = 512 * 1024 / row.kib;
	for (unsigned long batch = 0; batch < batches; batch++) {
		double start;

		for (unsigned long i = 0; i < folios; i++) {
			c[i] = (struct copy_folio) {
				.from = next_random(&seed) % slots << row.order,
				.to = half + (next_random(&seed) % slots << row.order),
				.order = row.order,
				.lower = 1,
			};
			side->prepare(&c[i]);
		}
		if (row.kib)
			read_lines(other, row.kib * 1024);
		start = cpu_time();
		for (unsigned long i = 0; i < folios; i++)
			if (row.zeroed && !streams(runner, &c[i]))
				side->zero(&c[i]);
		for (unsigned long i = 0; i < folios; i++)
			side->run(&c[i]);
		copy[batch] = (cpu_time() - start) / pages;
		read[batch] = row.kib ? read_lines(other, row.kib * 1024) : 0;
		for (unsigned long i = 0; i < folios && !row.kib; i++)
			read[batch] += read_lines(data(c[i].to), PAGE << row.order) / folios;
		verify(c, folios);
	}
	figures[0] = median(copy, batches);
	figures[1] = median(read, batches);
}

static unsigned int start_row(unsigned int number)
{
	return 2;
}

static void write_row(FILE *json, unsigned int number)
{
	struct row row = row_of(number);

	fprintf(json, "\"gib\": %lu, \"init_on_alloc\": %u, \"order\": %u, \"other_kib\": %lu, ",
		2 * half * PAGE / GIB, row.zeroed, row.order, row.kib);
}

static void tell_row(unsigned int number)
{
	struct row row = row_of(number);

	printf("  order %u, init_on_alloc=%u, beside %6lu KiB: %8.0f %8.0f ns per page, %5.2fx\n",
	       row.order, row.zeroed, row.kib, race_time(0), race_time(1), race_ratio(0, 1));
	fflush(stdout);
}

int race_folios(int nr, char **words)
{
	unsigned long gib = read_within(nr, words, 0, 4, 256, "a race takes GiB:");
	struct race race = {
		.unit = "ns of CPU time: copy per page of 4 KiB, read per line of 64 bytes",
		.nr_rows = 2 * NR_ORDERS * NR_OTHERS,
		.nr_runners = nr_kernels,
		.rounds = read_within(nr, words, 1, 5, 1000, "rounds:"),
		.figures = { "copy", "read" },
		.name_runner = name_kernel,
		.start_row = start_row,
		.write_row = write_row,
		.time_one = time_one,
		.tell_row = nr > 2 ? tell_row : NULL,
	};

	while (gib > 1 && gib * GIB > free_memory() / 4 * 3)
		gib /= 2;
	half = gib * GIB / PAGE / 2;
	open_folios(2 * half);
	stay_on_cpu();
	fill_random(data(0), half * PAGE, seed);
	memset(data(half), 1, half * PAGE);
	other = aligned_alloc(2 * MIB, LARGEST * 1024);
	if (!other)
		die("out of memory for the other data");
	madvise(other, LARGEST * 1024, MADV_HUGEPAGE);
	memset(other, 1, LARGEST * 1024);
	run_race(&race, nr > 2 ? words[2] : NULL);
	return 0;
}
