// SPDX-License-Identifier: GPL-2.0
/*
 * Folios to a lower tier. Every byte of their copies: of each order, between both tiers, by each
 * path; then with a page that cannot be read, or with a reference too many; then with a source that
 * ends at each line. The page behind the source can never be read. A target is whole before
 * others can find it, and nobody finds that of a copy that failed. Their speed: a folio is
 * moved, as each path does it, at random places of several GiB, and then other data is read again,
 * of several sizes.
 *
 * The series streams PMD-sized folios to the lower tier where the caller names the node, and does
 * not zero these. A page without access is one that cannot be read. The kernel's exception tables
 * are honoured as its fault handler would.
 *
 * And copies of 64 bytes, a constant, by memcpy() and memcpy_nt(), raced to memory in no cache.
 * What they copy, KUnit compares; memcpy_nt() of other sizes is memcpy().
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/mempolicy.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "../host.h"
#include "copy.h"

const char usage[] =
"usage: copy [returns=plain|jump|safe] [node=NODE] [COMMAND]; without a command, the next two\n"
"       copy folios                           compare every byte of folios that are migrated\n"
"       copy demote [GIB [ROUNDS [JSON]]]     time that in GIB GiB, half of them on NODE, if named\n"
"       copy race [MIB [ROUNDS [JSON]]]       time copies of 64 bytes to MIB MiB; samples to JSON\n"
"       copy info                             the kernels\n";

const char *const setting_names[] = { "returns", "node", NULL };

#define PAGE		4096UL
#define LINE		64UL
#define MAX_ORDER	9		/* PMD-sized */
#define AREA		(1UL << MAX_ORDER)
#define FROM		AREA		/* aligned, with room on both sides */
#define TO		(3 * AREA)
#define AROUND		(5 * AREA)
#define NOT_POISONED	(~0UL)

static const char *const paths[] = { "reclaim", "move_pages", "mbind", "offline" };

/* The kernel's format: distances from each field, and the type of the handler. */
struct exception {
	int32_t insn, fixup, data;
};

/*
 * EX_TYPE_DEFAULT_MCE_SAFE, the one type that a machine check takes, and EX_TYPE_FAULT, which
 * faults.toml gives to a load in place of a prefetch.
 */
#define MCE_SAFE	14
#define PREFETCH	2

/* Of all kernels, one behind the other; the linker provides both. */
extern const struct exception __start___ex_table[], __stop___ex_table[];

static const struct copy_side *side_of(unsigned int kernel)
{
	return (const struct copy_side *)kernels[kernel].side;
}

static struct sigaction unexpected;
/* The page that a kernel reported last, and where its source ends */
static unsigned long poisoned;
static unsigned char *source_end, *before;
/* What a target must have when others find it; 0: nobody may find it */
static unsigned long whole;
static bool behind, early;

void replay_poisoned(unsigned long pfn)
{
	poisoned = pfn;
}

/* The data of a page */
static unsigned char *data(unsigned long pfn)
{
	return (unsigned char *)COPY_DATA + pfn * PAGE;
}

KERNEL_CALLS void replay_found(unsigned long pfn)
{
	if (pfn == TO && (!whole || memcmp(data(TO), before + TO * PAGE, whole)))
		early = true;
}

static void fault(int signal, siginfo_t *info, void *context)
{
	greg_t *ip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	const struct exception *e;

	for (e = __start___ex_table; e < __stop___ex_table; e++)
		if ((greg_t)&e->insn + e->insn == *ip &&
		    (e->data == MCE_SAFE || e->data == PREFETCH)) {
			if (e->data == PREFETCH && (unsigned char *)info->si_addr >= source_end)
				behind = true;
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

static int tell(const struct copy_folio *c, const char *what)
{
	printf("DIFFERS %s order=%u from_lower=%u lower=%u: %s: %s\n", paths[c->path], c->order,
	       c->from_lower, c->lower, crash_kernel, what);
	return 1;
}

static bool streams(unsigned int kernel, const struct copy_folio *c)
{
	return kernel && c->order == MAX_ORDER && c->lower && !c->from_lower &&
	       c->path <= MOVE_PAGES;
}

/* Only the first @good pages can be read. The source is random, the rest is another byte. */
static int check_folio(unsigned int kernel, const struct copy_folio *c, unsigned long good)
{
	const struct copy_side *side = side_of(kernel);
	unsigned long nr = 1UL << c->order, streamed = *side->streamed, zeroed = *side->zeroed;
	bool bad = good < nr || c->pinned;
	int failed;

	memset(data(0), 0xa5, AROUND * PAGE);
	fill_random(data(FROM), nr * PAGE, c->order + 1);
	memcpy(before, data(0), AROUND * PAGE);
	if (!c->pinned)
		memcpy(before + TO * PAGE, before + FROM * PAGE, good * PAGE);
	whole = bad ? 0 : nr * PAGE;
	source_end = data(FROM + nr);
	poisoned = NOT_POISONED;
	side->prepare(c);
	mprotect(data(FROM + good), (nr - good + 1) * PAGE, PROT_NONE);
	/* Where all can be read, zeroes are overwritten. */
	failed = side->run(c, !bad);
	mprotect(data(FROM + good), (nr - good + 1) * PAGE, PROT_READ | PROT_WRITE);
	streamed = *side->streamed - streamed;
	zeroed = *side->zeroed - zeroed;
	if (failed != bad)
		return tell(c, bad ? "a page that cannot be read is not told" : "fails");
	if (early || side->is_used(bad ? TO : FROM) || !side->is_used(bad ? FROM : TO))
		return tell(c, "the wrong folio can be found, or one that is not whole");
	if (poisoned != (good < nr ? FROM + good : NOT_POISONED))
		return tell(c, bad ? "the wrong page is reported" : "reports a page");
	if (behind)
		return tell(c, "touches what lies behind the source");
	if (memcmp(data(0), before, AROUND * PAGE))
		return tell(c, bad ? "wrong bytes around a page that cannot be read" :
			       "wrong bytes");
	/* A folio that cannot be moved is tried twice, but by reclaim. */
	if (streamed != streams(kernel, c) * !c->pinned * nr * PAGE *
			(bad && c->path != RECLAIM ? 2 : 1))
		return tell(c, streamed ? "streams what it must not" :
			       "does not stream to the lower tier");
	return !bad && zeroed != !streamed * nr * PAGE ? tell(c, "zeroes what it streams to") : 0;
}

/* Only the first @good bytes of the source can be read: from none of a huge folio to all. */
static int check_lines(unsigned int kernel)
{
	const struct copy_folio c = { .order = MAX_ORDER, .lower = 1 };
	unsigned long all = AREA * PAGE;
	bool bad = false;

	memset(data(TO), 0xa5, all + PAGE);
	fill_random(data(FROM), all, 1);
	/* No copy ends behind this. */
	source_end = data(FROM + 2 * AREA);
	mprotect(data(FROM + AREA), AREA * PAGE, PROT_NONE);
	for (unsigned long good = 0; !bad && good <= all; good += LINE) {
		unsigned long seen = good % PAGE ?: good;
		unsigned char *from = data(FROM) + all - good, *to = data(TO);

		if (side_of(kernel)->copy_nt(to, from, all) != all - good)
			return tell(&c, "the wrong number of bytes is left");
		bad = memcmp(to + good - seen, from + good - seen, seen);
		for (unsigned long i = 0; i < PAGE; i++)
			bad |= to[good + i] != 0xa5;
	}
	mprotect(data(FROM + AREA), AREA * PAGE, PROT_READ | PROT_WRITE);
	return bad ? tell(&c, "wrong bytes around a line that cannot be read") : 0;
}

static int check_folios(int nr, char **words)
{
	unsigned long cases = 0;
	int bad = 0;

	open_folios(AROUND + AREA);
	before = map_at(0, AROUND * PAGE);
	crash_context = "folios";
	for (unsigned int i = 0; i < nr_kernels; i++) {
		crash_kernel = kernels[i].name;
		for (unsigned int order = 0; order <= MAX_ORDER; order++)
			for (unsigned int way = 0; way < 4 * NR_PATHS; way++, cases += 5) {
				struct copy_folio c = {
					way / 4, FROM, TO, order, way & 1, way / 2 & 1, 0
				};

				bad |= check_folio(i, &c, 1UL << order);
				bad |= check_folio(i, &c, 0);
				bad |= check_folio(i, &c, (1UL << order) - 1);
				bad |= check_folio(i, &c, (1UL << order) / 2);
				c.pinned = 1;
				bad |= check_folio(i, &c, 1UL << order);
			}
		/* The base has no such routine. */
		bad |= i && check_lines(i);
	}
	printf("%lu folios, and one that ends at each line: ", cases);
	puts(bad ? "some differ" : "every byte as it must be");
	return bad;
}

/* Up to 64 MiB are copied in a round, and up to 512 MiB read. */
#define MAX_FOLIOS	32

/* KiB of the other data; 0: the copies themselves are read. */
static const unsigned long others[] = { 32, 256, 1024, 4096, 16384, 65536, 262144, 0 };
#define NR_OTHERS	(sizeof(others) / sizeof(*others))
#define LARGEST		262144UL

static unsigned long half;		/* pages to copy from, then as many to copy to */
static unsigned char *other;
static uint64_t seed = 1;

/* Of a row: init_on_alloc first, as it is Debian's default */
static struct row {
	bool init;
	enum copy_path path;
	unsigned long kib;
} row_of(unsigned int row)
{
	return (struct row) {
		row < NR_PATHS * NR_OTHERS, row / NR_OTHERS % NR_PATHS, others[row % NR_OTHERS]
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

/* Medians of the folios: ns per page that is moved, ns per line read. */
static void time_folios(unsigned int number, unsigned int runner, unsigned int round,
			double *figures)
{
	struct row row = row_of(number);
	const struct copy_side *side = side_of(runner);
	unsigned long nr = MAX_FOLIOS, slots = half >> MAX_ORDER;
	double copy[MAX_FOLIOS], read[MAX_FOLIOS];

	if (row.kib && nr > 512 * 1024 / row.kib)
		nr = 512 * 1024 / row.kib;
	for (unsigned long i = 0; i < nr; i++) {
		struct copy_folio c = {
			.path = row.path,
			.from = next_random(&seed) % slots << MAX_ORDER,
			.to = half + (next_random(&seed) % slots << MAX_ORDER),
			.order = MAX_ORDER,
			.lower = 1,
		};
		double start;

		side->prepare(&c);
		if (row.kib)
			read_lines(other, row.kib * 1024);
		start = cpu_time();
		side->run(&c, row.init);
		copy[i] = (cpu_time() - start) / AREA;
		read[i] = row.kib ? read_lines(other, row.kib * 1024) :
				    read_lines(data(c.to), AREA * PAGE);
		if (memcmp(data(c.to), data(c.from), AREA * PAGE))
			die("%s: wrong bytes", crash_kernel);
	}
	figures[0] = median(copy, nr);
	figures[1] = median(read, nr);
}

static void write_folios(FILE *json, unsigned int number)
{
	struct row row = row_of(number);

	fprintf(json, "\"gib\": %lu, \"path\": \"%s\", \"init_on_alloc\": %u, \"order\": %u, "
		"\"other_kib\": %lu, ", 2 * half * PAGE / GIB, paths[row.path], row.init, MAX_ORDER,
		row.kib);
}

static void tell_folios(unsigned int number)
{
	struct row row = row_of(number);

	printf("  %s, init_on_alloc=%u, beside %6lu KiB: %8.0f %8.0f ns per page, %5.2fx\n",
	       paths[row.path], row.init, row.kib, race_time(0), race_time(1), race_ratio(0, 1));
	fflush(stdout);
}

static int race_folios(int nr, char **words)
{
	const char *node = find_setting("node");
	unsigned long gib = read_within(nr, words, 0, 4, 256, "a race takes GiB:");
	struct race race = {
		.unit = "ns of CPU time: copy per page of 4 KiB, read per line of 64 bytes",
		.nr_rows = 2 * NR_PATHS * NR_OTHERS,
		.nr_runners = nr_kernels,
		.rounds = read_within(nr, words, 1, 5, 1000, "rounds:"),
		.figures = { "copy", "read" },
		.name_runner = name_kernel,
		.write_row = write_folios,
		.time_one = time_folios,
		.tell_row = nr > 2 ? tell_folios : NULL,
	};

	while (gib > 1 && gib * GIB > free_memory() / 4 * 3)
		gib /= 2;
	half = gib * GIB / PAGE / 2;
	open_folios(2 * half);
	if (node) {
		unsigned long mask = 1UL << read_number(node);

		if (syscall(SYS_mbind, data(half), half * PAGE, MPOL_BIND, &mask, 64, 0))
			die("node=%s: no memory of that node can be had", node);
	}
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

static unsigned char *from, *to;
static unsigned long room;		/* bytes to copy to */

/* What a race copies: from the start of a line, 64 bytes from the half of one lie across two. */
static const unsigned long shifts[] = { 0, 8, LINE / 2 }, distances[] = { 64, 128, 256, 4096 };
#define NR_DISTANCES	(sizeof(distances) / sizeof(*distances))
#define NR_SHIFTS	(sizeof(shifts) / sizeof(*shifts))

static const char *name_routine(unsigned int kernel)
{
	static const char *const names[] = { "memcpy", "memcpy_nt", "peer" };

	return names[kernel];
}

static void time_copies(unsigned int row, unsigned int runner, unsigned int round, double *figures)
{
	unsigned long shift = shifts[row / NR_DISTANCES], apart = distances[row % NR_DISTANCES];
	unsigned long nr = (room - 2 * LINE) / apart + 1;
	double start;

	/* Every run starts alike, with none of the memory in a cache. */
	stream(to, room);
	stream_end();
	start = cpu_time();
	side_of(runner)->copy_64(to + shift, from, nr, apart);
	stream_end();
	*figures = (cpu_time() - start) / nr;
}

static void write_copies(FILE *json, unsigned int row)
{
	fprintf(json, "\"mib\": %lu, \"bytes\": 64, \"shifted\": %lu, \"apart\": %lu, ",
		room / MIB, shifts[row / NR_DISTANCES], distances[row % NR_DISTANCES]);
}

static int race_routines(int nr, char **words)
{
	struct race race = {
		.unit = "ns of CPU time per 64 bytes",
		.nr_rows = NR_SHIFTS * NR_DISTANCES,
		.nr_runners = nr_kernels,
		.rounds = read_within(nr, words, 1, 3, 1000, "rounds:"),
		.figures = { "samples" },
		.name_runner = name_routine,
		.write_row = write_copies,
		.time_one = time_copies,
	};

	room = read_within(nr, words, 0, 256, 65536, "a race takes MiB:") * MIB;
	to = map_at(0, room);
	from = map_at(0, LINE);
	madvise(to, room, MADV_HUGEPAGE);
	memset(to, 1, room);
	memset(from, 2, LINE);
	stay_on_cpu();
	run_race(&race, nr > 2 ? words[2] : NULL);
	return 0;
}

const struct command commands[] = {
	{ "folios", 0, check_folios },
	{ "demote", 3, race_folios },
	{ "race", 3, race_routines },
	{ }
};

int run_all(void)
{
	char *words[] = { "4", "3", "copy.json" };

	return check_folios(0, NULL) || race_folios(3, words);
}
