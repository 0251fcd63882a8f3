// SPDX-License-Identifier: GPL-2.0
/* What the program `memmap` does with its words. */
#include <string.h>

#include "program.h"

const char usage[] =
"usage: memmap [SETTING...] [COMMAND]\n"
"       memmap estimate [--for SIZE] [--json FILE]  the seconds that memory of this machine, or of\n"
"                                             SIZE such as 2T or 512G, takes here, in a minute\n"
"       memmap [--json FILE]                  without a command: compare, race, print a table\n"
"       memmap check [WHAT [CASES [SEED [FIRST]]]]  compare the kernels byte for byte\n"
"       memmap race ROWS [ROUNDS [JSON]]      time them; the samples go to the file JSON\n"
"       memmap info                           the kernels and their struct page\n"
"       memmap --help, memmap --version       this text; from what the program was built\n"
"FILE gets the samples; - is stdout.\n"
"WHAT is one of"
#define WHAT(token, name, words, unit, runs, lacks) " " name
#include "whats.h"
#undef WHAT
"; else all are compared.\n"
"ROWS is a list such as bind:64:o9:ram,online:256:b128 of WHAT, GiB, and\n"
"       o9      order of a device's pages         ram     its memmap is not on the device\n"
"       m512    MiB instead of GiB                keep    init_on_alloc=0\n"
"       b128    MiB of a memory block             t2      threads, by wall clock\n"
"       used    half of what goes offline is movable memory in use\n"
"       gap     half is boot memory, and the rest goes offline behind a missing block\n"
"       cma     reserved memory is an area of CMA, and activated    kho     it was preserved\n"
"SETTING is\n"
"       returns=plain|jump|safe  how functions return; else as this CPU's kernel does\n"
"       place=N                  the first round of a race begins N * 8 bytes below a cache line\n"
"       threads=N                compare with N CPUs and the smallest chunks\n"
"       helpers=N                start so many threads for them; else N - 1\n"
"       works=N                  padata has so many works\n"
"       beside=1                 compare two devices that are bound at once\n";

const char *const setting_names[] = {
	"returns", "place", "threads", "helpers", "works", "beside", NULL
};

const char *const what_names[] = {
#define WHAT(token, name, words, unit, runs, lacks) name,
#include "whats.h"
#undef WHAT
};

unsigned long replay_pgmap[512];
void *state;

KERNEL_CALLS
void *replay_memory(void)
{
	static unsigned long memory;

	if (!memory)
		memory = ((unsigned long)map_at(0, 513 * GIB) + GIB - 1) & -GIB;
	return (void *)memory;
}

enum memmap_what find_what(const char *name)
{
	for (unsigned int what = 0; what < NR_WHATS; what++)
		if (!strcmp(name, what_names[what])) {
			if (!(side_of(0)->can_run(what)))
				die("these kernels have no %s: it is left out", name);
			return what;
		}
	fputs(usage, stderr);
	die("'%s' is no such WHAT", name);
}

struct memmap_case make_case(enum memmap_what what, unsigned long nr_pages, unsigned int order,
			     bool ram)
{
	unsigned long memmap = nr_pages * layout->page_struct_size >> layout->page_shift;
	unsigned long gib = GIB >> layout->page_shift;
	struct memmap_case c = {
		.what = what,
		.start_pfn = 4 * gib,		/* aligned to every order */
		.nr_pages = nr_pages,
		/* What is to go offline again is movable. */
		.zone = side_of(0)->zones[what >= WHAT_OFFLINE],
		.init_on_alloc = 1,		/* as Debian has it */
	};

	/* Behind all that is compared of the device or the memory */
	c.ram_pfn = c.start_pfn + (nr_pages + gib - 1) / gib * gib + 2 * gib;
	if (what >= WHAT_PLUG)
		c.ram_pages = memmap + (64 * MIB >> layout->page_shift);
	else if (what > WHAT_BIND)
		c.ram_pfn = 0;
	if (what > WHAT_BIND)
		return c;
	c.order = order;
	c.altmap = !ram;
	if (what == WHAT_FILL)
		return c;
	c.ram_pages = memmap + (64 * MIB >> layout->page_shift);
	if (!ram) {
		/* As ndctl: the memmap, and 2 MiB for the labels and the alignment. */
		c.reserve = 2;
		c.offset = memmap + 512 - c.reserve;
	}
	return c;
}

void set_init_on_alloc(bool on)
{
	for (unsigned int i = 0; i < nr_kernels && layout->init_on_alloc; i++)
		set_key(kernels[i].side->layout->init_on_alloc, on);
}

unsigned long prepare_case(unsigned int kernel, const struct memmap_case *c, unsigned int threads,
			   unsigned long min_chunk)
{
	const struct memmap_side *side = side_of(kernel);

	if (!state) {
		state = map_at(0, side->state_size);
		for (unsigned int i = 1; i < nr_kernels; i++)
			if (side_of(i)->state_size != side->state_size)
				die("struct zone or its like differs between base and %s",
				    kernels[i].name);
	}
	side->set_cpus(threads, min_chunk);
	return side->prepare(c, state);
}

const struct command commands[] = {
	{ "check", 4, check_all },
	{ "race", 3, race_rows },
	{ "estimate", 4, estimate },
	{ "--json", 1, compare_and_race },
	{ }
};
