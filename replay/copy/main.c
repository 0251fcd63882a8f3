// SPDX-License-Identifier: GPL-2.0
/*
 * The copy replay: the base's routines and what the other kernels add to them,
 * compared with what the C library copies, and raced to memory in no cache.
 */
#include <cpuid.h>
#include <string.h>
#include <sys/mman.h>

#include "../userspace.h"
#include "copy.h"

#define MAX_COPY	(2 * MIB)
#define LINE		64UL
#define SHIFTED		8UL		/* bytes from the start of a line */

const char usage[] =
"usage: copy check [CASES [SEED]]             compare every byte\n"
"       copy race [MIB [ROUNDS [JSON]]]       copy to MIB MiB; the samples go to JSON\n"
"       copy info                             the kernels\n";

static struct routine {
	struct copy_routine kernel;
	char name[32];
	bool may_differ;	/* a peer's: that is reported, and no failure */
} routines[16];
static unsigned int nr_routines;
static const char *alternatives;

/* What a race copies. */
static struct row {
	unsigned long bytes;
	unsigned long shifted;	/* from the start of a line */
	unsigned long apart;	/* the starts of copies of constant size; else 0 */
} rows[64];
static unsigned int nr_rows;
static unsigned char *from, *to;
static unsigned long room;		/* bytes to copy to */

/*
 * The features of the CPU for which the kernels' code is patched, as when they boot.
 * Others stay as compiled: CLAC and STAC would trap here. As in cpufeatures.h: word 9
 * is EBX of CPUID leaf 7, word 18 is EDX.
 */
static struct feature {
	const char *name;
	unsigned int word, bit;
	bool present, applied;
} features[] = {
	{ .name = "ERMS", .word = 9, .bit = 9 },
	{ .name = "CLFLUSHOPT", .word = 9, .bit = 23 },
	{ .name = "CLWB", .word = 9, .bit = 24 },
	{ .name = "FSRM", .word = 18, .bit = 4 },
};

#define NR_FEATURES	(sizeof(features) / sizeof(*features))

/* In the order of the kernel: where several fit, the last one stays. */
static void replace_present(const struct alternative *a)
{
	for (unsigned int i = 0; i < NR_FEATURES; i++) {
		struct feature *f = &features[i];

		if (a->feature != f->word * 32 + f->bit || !f->present)
			continue;
		/* CALL, JMP: no routine here needs one. */
		if (a->missing || a->direct_call || (a->nr && (*a->new & 0xfe) == 0xe8))
			die("an alternative at %p that is not plain: teach copy/main.c", a->code);
		f->applied = true;
		replace_instruction(a, a->new, a->nr);
		return;
	}
}

/* Returns the names of the features that the code of the kernels has used. */
static const char *patch_kernels(void)
{
	unsigned int a, b = 0, c, d = 0;
	static char names[64];

	__get_cpuid_count(7, 0, &a, &b, &c, &d);
	for (unsigned int i = 0; i < NR_FEATURES; i++)
		features[i].present = (features[i].word == 9 ? b : d) >> features[i].bit & 1;
	find_alternatives(replace_present);
	for (unsigned int i = 0; i < NR_FEATURES; i++)
		if (features[i].applied)
			sprintf(names + strlen(names), "%s%s", *names ? ", " : "",
				features[i].name);
	return names;
}

/* The base has all but memcpy_nt(). */
void prepare_kernels(void)
{
	alternatives = patch_kernels();
	for (unsigned int i = 0; i < nr_kernels; i++) {
		const struct copy_side *side = (const struct copy_side *)kernels[i].side;

		for (const struct copy_routine *r = side->routines; r->name; r++) {
			struct routine *made = &routines[nr_routines];

			if (i && strcmp(r->name, "memcpy_nt"))
				continue;
			made->kernel = *r;
			made->may_differ = kernels[i].may_differ;
			snprintf(made->name, sizeof(made->name), "%s%s", r->name,
				 made->may_differ ? " of peer" : "");
			nr_routines++;
		}
	}
}

static const char *name_routine(unsigned int runner)
{
	return routines[runner].name;
}

static void open_memory(unsigned long bytes)
{
	room = bytes;
	to = map_at(0, room);
	from = map_at(0, MAX_COPY + 4 * LINE);
	madvise(to, room, MADV_HUGEPAGE);
	madvise(from, MAX_COPY + 4 * LINE, MADV_HUGEPAGE);
	memset(to, 1, room);
	fill_random(from, MAX_COPY + 4 * LINE, 1);
}

static int check_copy(unsigned char *want, unsigned long shift, unsigned long shift_from,
		      unsigned long n)
{
	unsigned long bytes = shift + n + 2 * LINE;
	int bad = 0;

	memset(want, 0xa5, bytes);
	memcpy(want + LINE + shift, from + shift_from, n);
	/* 64 bytes also as a constant */
	for (unsigned int i = 0; i < (n == LINE ? 2 : 1) * nr_routines; i++) {
		const struct routine *r = &routines[i % nr_routines];

		crash_kernel = r->name;
		memset(to, 0xa5, bytes);
		if (i < nr_routines)
			r->kernel.copy(to + LINE + shift, from + shift_from, n);
		else
			r->kernel.copy_64(to + LINE + shift, from + shift_from, 1, 0);
		stream_end();
		if (!memcmp(to, want, bytes))
			continue;
		printf("%s %s: %lu bytes%s to offset %lu, from offset %lu\n",
		       r->may_differ ? "differs" : "DIFFERS", r->name, n,
		       i < nr_routines ? "" : ", a constant,", shift, shift_from);
		bad |= !r->may_differ;
	}
	return bad;
}

static int run_check(int nr, char **words)
{
	unsigned long cases = read_word(nr, words, 0, 20000), done = 0;
	uint64_t state = read_word(nr, words, 1, 1);
	unsigned char *want = map_at(0, MAX_COPY + 4 * LINE);
	int bad = 0;

	crash_context = "check";
	open_memory(MAX_COPY + 4 * LINE);
	for (unsigned long n = 0; n <= 5 * LINE; n++, done++)
		bad |= check_copy(want, n % 3 * SHIFTED, 0, n);
	for (unsigned long n = LINE; n <= MAX_COPY; n *= 2, done++)
		bad |= check_copy(want, 0, 0, n) | check_copy(want, SHIFTED, 0, n - 1);
	for (; cases--; done++) {
		unsigned long shift = below(&state, LINE), from = below(&state, LINE);

		bad |= check_copy(want, shift, from, below(&state, 1UL << below(&state, 16)));
	}
	printf("%lu copies by each of %u: %s\n", done, nr_routines,
	       bad ? "some differ" : "every byte as it must be");
	return bad;
}

static void list_rows(void)
{
	/* A half line from the start of one, 64 bytes lie across two lines. */
	static const unsigned long shifts[] = { 0, SHIFTED, LINE / 2 };
	static const unsigned long distances[] = { LINE, 2 * LINE, 4 * LINE, 4096 };

	/* Each size aligned, then shifted and with a byte more. */
	for (unsigned long shift = 0; shift <= SHIFTED; shift += SHIFTED)
		for (unsigned long n = LINE; n <= MAX_COPY; n *= 2)
			rows[nr_rows++] = (struct row) { n + !!shift, shift, 0 };
	for (unsigned int i = 0; i < 3; i++)
		for (unsigned int j = 0; j < 4; j++)
			rows[nr_rows++] = (struct row) { LINE, shifts[i], distances[j] };
}

static void time_one(unsigned int row, unsigned int runner, double *figures)
{
	const struct row *r = &rows[row];
	const struct copy_routine *kernel = &routines[runner].kernel;
	unsigned long lines = (r->shifted + r->bytes + LINE - 1) / LINE * LINE;
	unsigned long step = r->apart ?: lines, nr = (room - lines) / step + 1;
	unsigned char *at = to + r->shifted;
	double start;

	/* Every run starts alike, with none of the memory in a cache. */
	stream(to, room);
	stream_end();
	start = cpu_time();
	if (r->apart)
		kernel->copy_64(at, from, nr, step);
	else
		for (unsigned long i = 0; i < nr; i++, at += step)
			kernel->copy(at, from, r->bytes);
	stream_end();
	*figures = (cpu_time() - start) / ((double)nr * r->bytes / LINE);
}

static void write_row(FILE *json, unsigned int row)
{
	const struct row *r = &rows[row];

	fprintf(json, "\"mib\": %lu, \"bytes\": %lu, \"shifted\": %lu, ", room / MIB, r->bytes,
		r->shifted);
	if (r->apart)
		fprintf(json, "\"apart\": %lu, ", r->apart);
}

static int run_copy_race(int nr, char **words)
{
	struct race race = {
		.unit = "ns of CPU time per 64 bytes",
		.alternatives = alternatives,
		.nr_runners = nr_routines,
		.figures = { "samples" },
		.name_runner = name_routine,
		.write_row = write_row,
		.time_one = time_one,
	};

	list_rows();
	race.nr_rows = nr_rows;
	open_memory(read_within(nr, words, 0, 256, 65536, "a race takes MiB:") * MIB);
	if (room < 4 * MAX_COPY)
		die("a race takes MiB: %lu or more", 4 * MAX_COPY / MIB);
	stay_on_cpu();
	return run_race(&race, nr - 1, words + 1);
}

const struct command commands[] = {
	{ "check", 2, run_check },
	{ "race", 3, run_copy_race },
	{ }
};
