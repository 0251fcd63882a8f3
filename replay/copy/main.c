// SPDX-License-Identifier: GPL-2.0
/*
 * Copies of 64 bytes, a constant: the base's routines and what the other kernels add to them, raced
 * to memory in no cache. What they copy, KUnit compares; memcpy_nt() of other sizes is memcpy().
 */
#include <string.h>
#include <sys/mman.h>

#include "program.h"

#define LINE		64UL

const char usage[] =
"usage: copy [returns=plain|jump|safe] [node=NODE] [COMMAND]; without a command, the next two\n"
"       copy folios                           compare every byte of folios that are migrated\n"
"       copy demote [GIB [ROUNDS [JSON]]]     time that in GIB GiB, half of them on NODE, if named\n"
"       copy race [MIB [ROUNDS [JSON]]]       time copies of 64 bytes to MIB MiB; samples to JSON\n"
"       copy info                             the kernels\n";

const char *const setting_names[] = { "returns", "node", NULL };

static struct routine {
	struct copy_routine kernel;
	char name[32];
} routines[16];
static unsigned int nr_routines;
static unsigned char *from, *to;
static unsigned long room;		/* bytes to copy to */

/* What a race copies: from the start of a line, 64 bytes from the half of one lie across two. */
static const unsigned long shifts[] = { 0, 8, LINE / 2 }, distances[] = { 64, 128, 256, 4096 };
#define NR_DISTANCES	(sizeof(distances) / sizeof(*distances))
#define NR_ROWS		(sizeof(shifts) / sizeof(*shifts) * NR_DISTANCES)

/* The base has all but memcpy_nt(). */
static void list_routines(void)
{
	for (unsigned int i = 0; i < nr_kernels; i++)
		for (const struct copy_routine *r = side_of(i)->routines; r->name; r++) {
			struct routine *made = &routines[nr_routines];

			if (i && strcmp(r->name, "memcpy_nt"))
				continue;
			made->kernel = *r;
			snprintf(made->name, sizeof(made->name), "%s%s", r->name,
				 kernels[i].may_differ ? " of peer" : "");
			nr_routines++;
		}
}

static const char *name_routine(unsigned int runner)
{
	return routines[runner].name;
}

static void time_one(unsigned int row, unsigned int runner, unsigned int round, double *figures)
{
	unsigned long shift = shifts[row / NR_DISTANCES], apart = distances[row % NR_DISTANCES];
	unsigned long nr = (room - 2 * LINE) / apart + 1;
	double start;

	/* Every run starts alike, with none of the memory in a cache. */
	stream(to, room);
	stream_end();
	start = cpu_time();
	routines[runner].kernel.copy_64(to + shift, from, nr, apart);
	stream_end();
	*figures = (cpu_time() - start) / nr;
}

static unsigned int start_row(unsigned int row)
{
	return 1;
}

static void write_row(FILE *json, unsigned int row)
{
	fprintf(json, "\"mib\": %lu, \"bytes\": 64, \"shifted\": %lu, \"apart\": %lu, ",
		room / MIB, shifts[row / NR_DISTANCES], distances[row % NR_DISTANCES]);
}

static int race_routines(int nr, char **words)
{
	struct race race = {
		.unit = "ns of CPU time per 64 bytes",
		.nr_rows = NR_ROWS,
		.rounds = read_within(nr, words, 1, 3, 1000, "rounds:"),
		.figures = { "samples" },
		.name_runner = name_routine,
		.start_row = start_row,
		.write_row = write_row,
		.time_one = time_one,
	};

	list_routines();
	race.nr_runners = nr_routines;
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
