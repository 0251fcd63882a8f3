// SPDX-License-Identifier: GPL-2.0
/*
 * Speed: every kernel and, as the lower bound, a bare non-temporal fill of the struct pages that
 * are written, in turn over the same memory. A row says what runs, on how much memory and how.
 *
 * What the kernels' code keeps on the stack can lie at any multiple of 8 bytes in a cache line.
 * Where it lies can decide how long a fill takes, so each round begins at another of these places.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "program.h"

#define MAX_ROWS	64
#define LINE		64

static struct row {
	char text[48];			/* as on the command line */
	struct memmap_case c;
	bool ram;
	unsigned int threads;		/* 0: one, by CPU time */
	unsigned long written;		/* struct pages */
	/* Of what binds, or goes offline, in the last round */
	struct memmap_counts counts[MAX_KERNELS];
} rows[MAX_ROWS];
static unsigned int nr_rows;
static struct race race;
static const char *const owners[NR_OWNERS] = { "memblock", "CMA", "KHO" };
static unsigned int first_place;	/* that of round 0 */
static double half_time;

KERNEL_CALLS
void replay_half(void)
{
	half_time = cpu_time();
}

/* Calls run(@c, @part) with the stack pointer so many bytes below a multiple of LINE. */
bool run_below(const struct memmap_case *c, enum memmap_part part,
	       bool (*run)(const struct memmap_case *c, enum memmap_part part),
	       unsigned long bytes);
#ifdef __x86_64__
asm(".pushsection .text\n"
    "run_below:\n"
    "	push %rbp\n"
    "	mov %rsp, %rbp\n"
    "	and $-64, %rsp\n"
    "	sub %rcx, %rsp\n"
    "	call *%rdx\n"
    "	leave\n"
    "	ret\n"
    ".popsection\n");
#else
bool run_below(const struct memmap_case *c, enum memmap_part part,
	       bool (*run)(const struct memmap_case *c, enum memmap_part part),
	       unsigned long bytes)
{
	return run(c, part);
}
#endif

unsigned long block_mib(void)
{
	char bytes[32];

	read_value("/sys/devices/system/memory/block_size_bytes", "", bytes, sizeof(bytes));
	return *bytes ? strtoul(bytes, NULL, 16) / MIB : 128;
}

/* Struct pages that are written: all, or the first of each compound page */
static unsigned long count_written(const struct memmap_case *c)
{
	if (!c->order || c->altmap || c->what > WHAT_BIND || 1UL << c->order <= layout->dedup_pages)
		return c->nr_pages - c->reserve - c->offset;
	return (c->nr_pages >> c->order) * layout->dedup_pages;
}

static void __attribute__((noreturn)) refuse_row(const char *text)
{
	fputs(usage, stderr);
	die("%s is no row such as bind:64:o9:ram or online:256:b128", text);
}

/* A row that had to shrink is named, and told in the samples, as it runs. */
static void name_size(struct row *row, const char *text, unsigned long asked)
{
	unsigned long mib = (row->c.nr_pages << layout->page_shift) / MIB;
	const char *size = strchr(text, ':') + 1;
	int length = size - text, n;

	if (mib == asked)
		return;
	n = snprintf(row->text, sizeof(row->text), "%.*s%s%lu%s", length, text,
		     mib % 1024 ? "m" : "", mib % 1024 ? mib : mib / 1024,
		     size + strcspn(size, ":"));
	if (n < 0 || (size_t)n >= sizeof(row->text))
		refuse_row(text);
	fprintf(stderr, "%s runs as %s: too little memory is free, or blocks are larger\n", text,
		row->text);
}

void add_row(const char *text)
{
	struct row *row = &rows[nr_rows++];
	unsigned long mib, block = block_mib(), order = 0, room = free_memory() / 4 * 3, need;
	char words[sizeof(row->text)], *word, *end;
	unsigned long asked;
	bool keep = false, ram = false, used = false, gap = false;
	enum memmap_owner owner = OWNER_MEMBLOCK;
	enum memmap_what what;

	if (nr_rows > MAX_ROWS || strlen(text) >= sizeof(row->text))
		refuse_row(text);
	strcpy(row->text, text);
	word = strtok(strcpy(words, text), ":");
	what = find_what(word ?: "");
	word = strtok(NULL, ":");
	mib = word ? strtoul(word + (*word == 'm'), &end, 10) * (*word == 'm' ? 1 : 1024) : 0;
	if (!mib || *end)
		refuse_row(text);
	asked = mib;
	while ((word = strtok(NULL, ":"))) {
		unsigned long n = strtoul(word + 1, &end, 10);

		if (!strcmp(word, "ram"))
			ram = true;
		else if (!strcmp(word, "keep"))
			keep = true;
		else if (!strcmp(word, "used"))
			used = true;
		else if (!strcmp(word, "gap") && what == WHAT_OFFLINE)
			gap = true;
		else if (!strcmp(word, "cma") && what == WHAT_RESERVED)
			owner = OWNER_CMA;
		else if (!strcmp(word, "kho") && what == WHAT_RESERVED)
			owner = OWNER_KHO;
		else if (*end || end == word + 1 || (!n && *word != 'o'))
			refuse_row(text);
		else if (*word == 'o' && n <= layout->max_order)
			order = n;
		else if (*word == 'b')
			block = n;
		else if (*word == 't' && what != WHAT_BIND && what < WHAT_PLUG)
			row->threads = n;
		else
			refuse_row(text);
	}
	do {
		unsigned long pages = mib * MIB >> layout->page_shift;

		row->c = make_case(what, pages, order, ram);
		row->written = count_written(&row->c);
		/* In RAM, the memmap is there twice: as it is filled, and as it is allocated. */
		ram |= what >= WHAT_PLUG;
		need = row->written * layout->page_struct_size * (1 + (ram && what != WHAT_FILL));
		mib /= 2;
	} while (need > room && mib);
	row->ram = ram;
	row->c.init_on_alloc = !keep;
	if (what >= WHAT_ONLINE) {
		row->c.block_pages = block * MIB >> layout->page_shift;
		row->c.nr_pages -= row->c.nr_pages % row->c.block_pages;
		row->written = row->c.nr_pages;
		row->c.used = used ? USE_MOVABLE : USE_NOTHING;
		/* The first half is boot memory, and a block is missing behind it. */
		row->c.gap_pages = gap ? row->c.block_pages : 0;
		row->c.early_pages = gap ? row->c.nr_pages / row->c.block_pages / 2 *
					   row->c.block_pages : 0;
	}
	if (what == WHAT_RESERVED) {
		row->c.owner = owner;
		row->c.bitmaps = 1;
		/* As of guest memory in huge pages */
		row->c.preserved_order = 9;
		row->c.nr_reserved = 1;
		row->c.reserved[0][0] = row->c.start_pfn;
		row->c.reserved[0][1] = row->c.start_pfn + row->c.nr_pages;
	}
	if (!row->written || row->c.nr_pages >> row->c.order == 0)
		die("%s: too little memory is free, or it has no whole page or block: choose "
		    "another size", text);
	name_size(row, text, asked);
	race.nr_rows = nr_rows;
}

/* What is filled, in so many pieces */
static const struct row *filled;
static unsigned int pieces;

static void fill_piece(unsigned long i)
{
	const struct memmap_case *c = &filled->c;
	unsigned long skipped = c->reserve + c->offset, all = (c->nr_pages - skipped) >> c->order;
	unsigned long page = c->start_pfn + skipped + (all * i / pieces << c->order);
	unsigned long end = c->start_pfn + skipped + (all * (i + 1) / pieces << c->order);
	unsigned long size = layout->page_struct_size;

	if (filled->written == c->nr_pages - skipped)
		stream(entry(page), (end - page) * size);
	else
		for (; page < end; page += 1UL << c->order)
			stream(entry(page), layout->dedup_pages * size);
	stream_end();
}

static void fill(const struct row *row, unsigned int threads)
{
	filled = row;
	pieces = threads * PIECES;
	threads_share(threads, pieces, fill_piece);
}

static double now(const struct row *row)
{
	return row->threads ? wall_time() : cpu_time();
}

static void time_one(unsigned int number, unsigned int runner, unsigned int round,
		     double *figures)
{
	struct row *row = &rows[number];
	const struct memmap_case *c = &row->c;
	const struct memmap_side *side = runner < nr_kernels ? side_of(runner) : NULL;
	unsigned int threads = row->threads ?: 1;
	bool is_early = c->what == WHAT_BIND || c->what == WHAT_PLUG;

	/* Every run starts alike, with hardly any of the memmap in a cache. */
	if (side && is_early)
		prepare_case(runner, c, threads, 0);
	fill(row, 1);
	if (side && !is_early)
		prepare_case(runner, c, threads, 0);
	figures[0] = 0;
	for (int part = 0; part < (c->what == WHAT_BIND ? NR_PARTS : 1); part++) {
		double ns = now(row);

		if (!side && (part == PART_FILL || c->what != WHAT_BIND))
			fill(row, threads);
		if (side && !run_below(c, part, side->run, (first_place + round) % NR_PLACES * 8))
			die("%s is out of memory", crash_kernel);
		figures[1 + part] = (now(row) - ns) / 1e6;
		figures[0] += figures[1 + part];
		if (c->what >= WHAT_PLUG) {
			figures[2] = side ? figures[1] - (half_time - ns) / 1e6 : 0;
			figures[1] -= figures[2];
		}
	}
	if (side && (c->what == WHAT_BIND || c->what >= WHAT_OFFLINE))
		side->count(&row->counts[runner]);
	/* Whatever the threads did to each other, all memory is free. */
	if (side && c->what == WHAT_DEFERRED && side->finish(c) != c->nr_pages)
		die("%s did not free all pages of %lu", crash_kernel, c->nr_pages);
}

/* Maps the memory as the kernel does; nothing is touched for the first time later on. */
static void start_row(unsigned int number)
{
	struct row *row = &rows[number];
	unsigned long end_pfn = row->c.ram_pages ? row->c.ram_pfn + row->c.ram_pages :
						   row->c.start_pfn + row->c.nr_pages;
	bool small = row->written < row->c.nr_pages - row->c.reserve - row->c.offset;
	double figures[MAX_FIGURES];
	static const char *const names[NR_WHATS][MAX_FIGURES - 1] = {
		[WHAT_BIND] = { "map", "fill", "unmap" },
		[WHAT_PLUG] = { "add", "online" },
		[WHAT_UNPLUG] = { "offline", "remove" },
	};

	window_open((end_pfn - row->c.start_pfn) * layout->page_struct_size);
	window_place(row->c.start_pfn);
	/* A deduplicated memmap is mapped with base pages. */
	if (small)
		madvise(entry(row->c.start_pfn), row->c.nr_pages * layout->page_struct_size,
			MADV_NOHUGEPAGE);
	set_init_on_alloc(row->c.init_on_alloc);
	fill(row, 1);
	/* What a kernel allocates, it may also touch. */
	for (unsigned int i = 0; i < nr_kernels && row->c.ram_pages; i++)
		time_one(number, i, 0, figures);
	memcpy(race.figures + 1, names[row->c.what], sizeof(names[row->c.what]));
}

static void write_row(FILE *json, unsigned int number)
{
	const struct row *row = &rows[number];
	const struct memmap_case *c = &row->c;

	fprintf(json, "\"row\": \"%s\", \"what\": \"%s\", \"mib\": %lu, \"written\": %lu, "
		"\"threads\": %u, \"place\": %u, ", row->text, what_names[c->what],
		row_mib(number), row->written, row->threads, first_place);
	if (c->what <= WHAT_BIND)
		fprintf(json, "\"order\": %u, \"ram\": %u, \"init_on_alloc\": %u, ", c->order,
			row->ram, c->init_on_alloc);
	if (c->what == WHAT_RESERVED)
		fprintf(json, "\"owner\": \"%s\", ", owners[c->owner]);
	if (c->block_pages)
		fprintf(json, "\"block_mib\": %lu, \"used\": %u, \"gap\": %u, ",
			(c->block_pages << layout->page_shift) / MIB, !!c->used, !!c->gap_pages);
	for (unsigned int i = 0; i < nr_kernels && c->what == WHAT_BIND; i++)
		fprintf(json, "\"%s\": {\"flushes\": %lu, \"locks\": %lu, \"allocated\": %lu}, ",
			kernels[i].name, row->counts[i].flushes, row->counts[i].locks,
			row->counts[i].allocated);
	for (unsigned int i = 0; i < nr_kernels && c->what >= WHAT_OFFLINE; i++)
		fprintf(json, "\"%s\": {\"lru_disabled\": %lu, \"walked\": %lu}, ", kernels[i].name,
			row->counts[i].lru_disabled, row->counts[i].walked);
}

unsigned long row_mib(unsigned int number)
{
	return (rows[number].c.nr_pages << layout->page_shift) / MIB;
}

void describe_row(unsigned int number, char *text, size_t size)
{
	static const char *const names[] = {
#define WHAT(token, name, words, unit, runs, lacks) words,
#include "whats.h"
#undef WHAT
	};
	const struct row *row = &rows[number];
	const struct memmap_case *c = &row->c;
	char more[64] = "";

	if (c->block_pages)
		snprintf(more, sizeof(more), ", blocks of %lu MiB%s%s",
			 (c->block_pages << layout->page_shift) / MIB,
			 c->used ? ", half used" : "", c->gap_pages ? ", behind a gap" : "");
	else if (c->what == WHAT_RESERVED && c->owner)
		snprintf(more, sizeof(more), ", %s %s",
			 c->owner == OWNER_CMA ? "of" : "preserved by", owners[c->owner]);
	else if (c->what <= WHAT_BIND)
		snprintf(more, sizeof(more), ": %s%s, memmap %s%s",
			 c->order ? "device-dax" : "fsdax",
			 c->order == 9 ? ", 2 MiB" : c->order == 18 ? ", 1 GiB" : "",
			 row->ram ? "in RAM" : "on the device",
			 c->init_on_alloc ? "" : ", init_on_alloc=0");
	snprintf(text, size, "%s%s", names[c->what], more);
	if (row->threads)
		snprintf(text + strlen(text), size - strlen(text), ", threads: %u", row->threads);
}

/* Seconds of CPU time per TiB */
static void tell_row(unsigned int number)
{
	unsigned long mib = row_mib(number);
	double tib = mib / 1048576.0;
	double least = INFINITY, most = 0;
	char name[96];

	describe_row(number, name, sizeof(name));
	printf("  %-54s %5lu %s %7.2f %7.2f  %6.2fx  %5.2fx", name, mib % 1024 ? mib : mib / 1024,
	       mib % 1024 ? "MiB" : "GiB", race_time(0) / 1000 / tib, race_time(1) / 1000 / tib,
	       race_ratio(0, 1), race_ratio(1, nr_kernels));
	for (unsigned int i = 0; i < NR_PLACES; i++) {
		double ratio = race_ratio_of(1, nr_kernels, i, NR_PLACES);

		least = ratio < least ? ratio : least;
		most = ratio > most ? ratio : most;
	}
	if (most > 1.1 * least)
		printf(" (%.2fx to %.2fx by the stack)", least, most);
	printf("\n");
}

void print_cpu(void)
{
	char cpu[128];

	read_value("/proc/cpuinfo", "model name\t: ", cpu, sizeof(cpu));
	printf("%s, as it boots: returns are %s (%s); alternatives: %s\n", cpu, boot_returns,
	       boot_reason, *boot_features ? boot_features : "none");
}

static void print_head(void)
{
	print_cpu();
	printf("seconds of one core per TiB (threads: of wall clock), medians\n");
	printf("  %-54s %9s %7s %7s  %7s  %6s\n", "", "size", "today", "patched", "faster",
	       "bound");
}

void run_rows(unsigned int rounds, const char *path, unsigned int nr_runners,
	      void (*tell)(unsigned int number))
{
	bool threads = false;
	char line[32];

	race = (struct race) {
		.unit = "ms",
		.nr_rows = nr_rows,
		.nr_runners = nr_runners,
		.rounds = rounds,
		.figures = { "samples" },
		.name_runner = name_kernel,
		.start_row = start_row,
		.write_row = write_row,
		.time_one = time_one,
		.tell_row = tell,
	};

	need_imitation();
	for (unsigned int i = 0; i < nr_rows; i++)
		threads |= !!rows[i].threads;
	if (threads)
		threads_start_all();
	else
		stay_on_cpu();
	read_value("/sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size", "", line,
		   sizeof(line));
	if (*line && strtoul(line, NULL, 10) != LINE)
		die("this CPU's cache lines have %s bytes, not %d: it is not raced", line, LINE);
	run_race(&race, path);
}

int race_rows(int nr, char **words)
{
	unsigned long rounds = read_within(nr, words, 1, NR_PLACES, 1000, "rounds:");
	const char *place = find_setting("place");

	if (!nr)
		refuse_row("nothing");
	first_place = place ? read_number(place) % NR_PLACES : 0;
	for (char *next, *text = words[0]; text; text = next) {
		next = strchr(text, ',');
		if (next)
			*next++ = 0;
		add_row(text);
	}
	if (nr > 2)
		print_head();
	run_rows(rounds, nr > 2 ? words[2] : NULL, nr_kernels + 1, nr > 2 ? tell_row : NULL);
	return 0;
}

int compare_and_race(int nr, char **words)
{
	static const char *const usual[] = {
		"bind:16", "bind:16:o9:ram", "online:256", "deferred:16"
	};
	const char *path = nr ? name_samples(words[0]) : NOWHERE;

	if (check_all(0, NULL))
		return 1;
	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		add_row(usual[i]);
	print_head();
	run_rows(NR_PLACES, path, nr_kernels + 1, tell_row);
	printf("bound: with the patches / a bare fill of the same struct pages\n");
	return 0;
}

int run_all(void)
{
	return compare_and_race(0, NULL);
}
