// SPDX-License-Identifier: GPL-2.0
/*
 * Folios to a lower tier. Every byte of their copies: of each order, between both tiers, by each
 * path; with a reference too many, or where only a part can be read, which ends at each line if it
 * is streamed. The page behind the source can never be read. A target is whole before others can
 * find it, and nobody finds that of a copy that failed. Their speed: a folio is moved, as each path
 * does it, at random places of several GiB, and then other data is read again, of several sizes.
 *
 * The series streams PMD-sized folios to the lower tier where the caller names the node, and does
 * not zero these. A page without access is one that cannot be read. The kernel's exception tables
 * are honoured as its fault handler would.
 *
 * And copies of 64 bytes, a constant, by memcpy() and memcpy_nt(), raced to memory in no cache.
 * What they copy, KUnit compares; memcpy_nt() of other sizes is memcpy().
 */
#define _GNU_SOURCE
#include <linux/mempolicy.h>
#include <signal.h>
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
#define FROM		(1UL << MAX_ORDER)	/* aligned, with room on both sides */
#define TO		(3UL << MAX_ORDER)
#define MOST_GIB	256

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
/* What a source has, where it ends, and what a target must have when others find it */
static unsigned char *content, *source_end, *target;
static unsigned long whole;		/* bytes; 0: nobody may find it */
/* What a move did, else 0: the first are told by the kernel's half, all others are 1. */
enum { FAILED = NR_EVENTS, EARLY, BEHIND, WRONG, NR_OUTCOMES };
static unsigned long outcome[NR_OUTCOMES];

static const char *const complaints[NR_OUTCOMES] = {
	[POISONED] = "the wrong page is reported",
	[FOUND] = "the wrong folio can be found",
	[FREED] = "the wrong folio is freed",
	[STREAMED] = "streams what it must not, or not to the lower tier",
	[ZEROED] = "zeroes what it streams to, or not what it copies to",
	[FAILED] = "fails, or a page that cannot be read is not told",
	[EARLY] = "a target can be found that is not whole",
	[BEHIND] = "touches what lies behind the source",
	[WRONG] = "wrong bytes",
};

/* The data of a page */
static unsigned char *data(unsigned long pfn)
{
	return (unsigned char *)COPY_DATA + pfn * PAGE;
}

KERNEL_CALLS void replay_tell(enum copy_event event, unsigned long value)
{
	outcome[event] = value;
	if (event == FOUND && value == TO && (!whole || memcmp(target, content, whole)))
		outcome[EARLY] = 1;
}

static void fault(int signal, siginfo_t *info, void *context)
{
	greg_t *ip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	const struct exception *e;

	for (e = __start___ex_table; e < __stop___ex_table; e++)
		if ((greg_t)&e->insn + e->insn == *ip &&
		    (e->data == MCE_SAFE || e->data == PREFETCH)) {
			if (e->data == PREFETCH && (unsigned char *)info->si_addr >= source_end)
				outcome[BEHIND] = 1;
			*ip = (greg_t)&e->fixup + e->fixup;
			return;
		}
	unexpected.sa_sigaction(signal, info, context);
}

/* From here on, a fault in the kernels' code continues at its fixup. */
static void open_folios(void)
{
	struct sigaction action = { .sa_sigaction = fault, .sa_flags = SA_SIGINFO };
	unsigned long most = MOST_GIB * GIB;

	if (unexpected.sa_sigaction)
		return;
	sigaction(SIGSEGV, &action, &unexpected);
	/* The kernel maps its memory with huge pages; failing that, small ones. */
	madvise(map_at(COPY_DATA, most), most, MADV_HUGEPAGE);
	window_open(most / PAGE * layout->page_struct_size);
	window_place(0);
}

static bool is_untouched(const unsigned char *start, unsigned long bytes)
{
	return *start == 0xa5 && !memcmp(start, start + 1, bytes - 1);
}

static bool is_streamed(unsigned int kernel, const struct copy_folio *c)
{
	return kernel && c->order == MAX_ORDER && c->lower && !c->from_lower &&
	       c->path <= MOVE_PAGES && !c->pinned;
}

/* Only the first @good bytes can be read, which end with a page. */
static bool check_folio(unsigned int kernel, struct copy_folio *c, unsigned long good)
{
	unsigned long size = PAGE << c->order, copied = c->pinned ? 0 : good;
	bool moved = copied == size, streamed = is_streamed(kernel, c), same = true;
	const unsigned long expected[NR_OUTCOMES] = {
		[POISONED] = moved || c->pinned ? 0 : FROM + good / PAGE,
		[FOUND] = moved ? TO : FROM,
		[FREED] = moved ? FROM : TO,
		[STREAMED] = streamed ? size : 0,
		/* The target of a copy that fails is to show what was written. */
		[ZEROED] = moved && !streamed ? size : 0,
		[FAILED] = !moved,
	};
	unsigned char *from;

	c->shift = -good % PAGE;
	from = data(FROM) + c->shift;
	memcpy(from, content, size);
	source_end = from + size;
	target = data(TO) + c->shift;
	memset(target - PAGE, 0xa5, size + 2 * PAGE);
	whole = moved ? size : 0;
	memset(outcome, 0, sizeof(outcome));
	side_of(kernel)->prepare(c);
	mprotect(from + good, size - good + PAGE, PROT_NONE);
	outcome[FAILED] = side_of(kernel)->run(c, moved);
	mprotect(from + good, size - good + PAGE, PROT_READ | PROT_WRITE);
	outcome[WRONG] = memcmp(from, content, size) || memcmp(target, content, copied) ||
		      !is_untouched(target - PAGE, PAGE) ||
		      !is_untouched(target + copied, size - copied + PAGE);
	for (int i = 0; i < NR_OUTCOMES; i++) {
		if (outcome[i] == expected[i])
			continue;
		printf("DIFFERS %s order=%u from_lower=%u lower=%u pinned=%u, readable: %lu: "
		       "%s: %s\n", paths[c->path], c->order, c->from_lower, c->lower, c->pinned,
		       good, crash_kernel, complaints[i]);
		same = false;
	}
	return same;
}

static int check_folios(int nr, char **words)
{
	unsigned long cases = 0;
	int bad = 0;

	open_folios();
	content = map_at(0, PAGE << MAX_ORDER);
	fill_random(content, PAGE << MAX_ORDER, 1);
	crash_context = "folios";
	for (unsigned int i = 0; i < nr_kernels; i++) {
		crash_kernel = kernels[i].name;
		for (unsigned int way = 0; way < 8 * NR_PATHS * (MAX_ORDER + 1); way++) {
			struct copy_folio c = {
				.path = way / 8 % NR_PATHS,
				.from = FROM,
				.to = TO,
				.order = way / 8 / NR_PATHS,
				.from_lower = way & 1,
				.lower = way / 2 & 1,
				.pinned = way / 4 & 1,
			};
			unsigned long good = 0, all = PAGE << c.order, step = all / 2;

			/* What is streamed can be read up to each line. */
			if (is_streamed(i, &c) && c.path == RECLAIM)
				step = LINE;
			for (; good <= all && check_folio(i, &c, good); good += step)
				cases++;
			bad |= good <= all;
		}
	}
	printf("%lu folios: ", cases);
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
		copy[i] = (cpu_time() - start) / (1UL << MAX_ORDER);
		read[i] = row.kib ? read_lines(other, row.kib * 1024) :
				    read_lines(data(c.to), PAGE << MAX_ORDER);
		if (memcmp(data(c.to), data(c.from), PAGE << MAX_ORDER))
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
	unsigned long gib = read_within(nr, words, 0, 4, MOST_GIB, "a race takes GiB:");
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
	open_folios();
	if (node) {
		unsigned long mask = 1UL << read_number(node);

		if (syscall(SYS_mbind, data(half), half * PAGE, MPOL_BIND, &mask, 64, 0))
			die("node=%s: no memory of that node can be had", node);
	}
	stay_on_cpu();
	fill_random(data(0), half * PAGE, seed);
	memset(data(half), 1, half * PAGE);
	other = map_at(0, LARGEST * 1024);
	madvise(other, LARGEST * 1024, MADV_HUGEPAGE);
	memset(other, 1, LARGEST * 1024);
	run_race(&race, nr > 2 ? words[2] : NULL);
	return 0;
}

static unsigned char *to, from[LINE] __attribute__((aligned(LINE)));
static unsigned long room;		/* bytes to copy to */

/* What a race copies: from the start of a line, 64 bytes from the half of one lie across two. */
static const unsigned long shifts[] = { 0, 8, LINE / 2 }, distances[] = { 64, 128, 256, 4096 };
#define NR_DISTANCES	(sizeof(distances) / sizeof(*distances))
#define NR_SHIFTS	(sizeof(shifts) / sizeof(*shifts))

static const char *name_routine(unsigned int kernel)
{
	return kernel ? "memcpy_nt" : "memcpy";
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
	madvise(to, room, MADV_HUGEPAGE);
	memset(to, 1, room);
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
