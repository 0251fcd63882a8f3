// SPDX-License-Identifier: GPL-2.0
/*
 * The base's routines and what the other kernels add to them, compared with what the C library
 * copies, and raced to memory in no cache.
 */
#include <string.h>
#include <sys/mman.h>

#include "program.h"

#define MAX_COPY	(2 * MIB)
#define LINE		64UL
#define SHIFTED		8UL		/* bytes from the start of a line */

const char usage[] =
"usage: copy [returns=plain|jump|safe] [COMMAND]; without a command, compare, race, print\n"
"       copy check [CASES [SEED]]             compare every byte\n"
"       copy race [MIB [ROUNDS [JSON]]]       copy to MIB MiB; the samples go to JSON\n"
"       copy folios                           compare every byte of folios that are migrated\n"
"       copy demote [GIB [ROUNDS [JSON]]]     time folios in GIB GiB\n"
"       copy info                             the kernels\n";

const char *const setting_names[] = { "returns", NULL };

static struct routine {
	struct copy_routine kernel;
	char name[32];
	bool may_differ;	/* a peer's: that is reported, and no failure */
} routines[16];
static unsigned int nr_routines;

/* What a race copies. */
static struct row {
	unsigned long bytes;
	unsigned long shifted;	/* from the start of a line */
	unsigned long apart;	/* the starts of copies of constant size; else 0 */
} rows[64];
static unsigned int nr_rows;
static unsigned char *from, *to;
static unsigned long room;		/* bytes to copy to */

/* The base has all but memcpy_nt(). */
static void list_routines(void)
{
	for (unsigned int i = 0; i < nr_kernels; i++)
		for (const struct copy_routine *r = side_of(i)->routines; r->name; r++) {
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

static const char *name_routine(unsigned int runner)
{
	return routines[runner].name;
}

static void open_memory(unsigned long bytes)
{
	list_routines();
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

static int check_routines(int nr, char **words)
{
	unsigned long cases = read_word(nr, words, 0, 20000), done = 0;
	uint64_t random = read_word(nr, words, 1, 1);
	unsigned char *want = map_at(0, MAX_COPY + 4 * LINE);
	int bad = 0;

	crash_context = "check";
	open_memory(MAX_COPY + 4 * LINE);
	for (unsigned long n = 0; n <= 5 * LINE; n++, done++)
		bad |= check_copy(want, n % 3 * SHIFTED, 0, n);
	for (unsigned long n = LINE; n <= MAX_COPY; n *= 2, done++)
		bad |= check_copy(want, 0, 0, n) | check_copy(want, SHIFTED, 0, n - 1);
	for (; cases--; done++) {
		unsigned long shift = below(&random, LINE), start = below(&random, LINE);

		bad |= check_copy(want, shift, start, below(&random, 1UL << below(&random, 16)));
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

static void time_one(unsigned int row, unsigned int runner, unsigned int round, double *figures)
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

static unsigned int start_row(unsigned int row)
{
	return 1;
}

static void write_row(FILE *json, unsigned int row)
{
	const struct row *r = &rows[row];

	fprintf(json, "\"mib\": %lu, \"bytes\": %lu, \"shifted\": %lu, \"apart\": %lu, ",
		room / MIB, r->bytes, r->shifted, r->apart);
}

static int race_routines(int nr, char **words)
{
	struct race race = {
		.unit = "ns of CPU time per 64 bytes",
		.rounds = read_within(nr, words, 1, 3, 1000, "rounds:"),
		.figures = { "samples" },
		.name_runner = name_routine,
		.start_row = start_row,
		.write_row = write_row,
		.time_one = time_one,
	};

	list_rows();
	open_memory(read_within(nr, words, 0, 256, 65536, "a race takes MiB:") * MIB);
	if (room < 4 * MAX_COPY)
		die("a race takes MiB: %lu or more", 4 * MAX_COPY / MIB);
	race.nr_rows = nr_rows;
	race.nr_runners = nr_routines;
	stay_on_cpu();
	run_race(&race, nr > 2 ? words[2] : NULL);
	return 0;
}

const struct command commands[] = {
	{ "check", 2, check_routines },
	{ "race", 3, race_routines },
	{ "folios", 0, check_folios },
	{ "demote", 3, race_folios },
	{ }
};

int run_all(void)
{
	char *words[] = { "4", "3", "copy.json" };

	return check_routines(0, NULL) || check_folios(0, NULL) || race_folios(3, words);
}
