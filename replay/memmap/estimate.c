// SPDX-License-Identifier: GPL-2.0
/*
 * What the owner of a machine waits for: the memory that sysfs tells of, or of a size that he
 * names, and the seconds that it takes on this CPU. Rows of 8 GiB are raced. In the base, a memory
 * block that comes or goes looks at all others, so such rows are raced with twice the memory again
 * and again, for about a minute. What is not measured is told as what it is.
 */
#define _GNU_SOURCE
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "program.h"

#define FIRST_MIB	(8 * 1024UL)
#define LIMIT		60e9			/* ns */
#define MAX_KINDS	8
#define MAX_SIZES	8			/* the last has 1 TiB */
#define MAX_WAITS	128

/* What is raced, in each size that it was raced in, the smallest first */
static struct kind {
	const char *what, *more;	/* such as "bind", ":o9:ram" */
	char name[96];
	bool grows;			/* in the base faster than the memory */
	unsigned long wanted;		/* the most MiB that somebody waits for */
	unsigned int nr_sizes;
	struct size {
		unsigned long mib;
		double seconds[2];	/* base, series */
	} sizes[MAX_SIZES];
} kinds[MAX_KINDS];
static unsigned int nr_kinds;

/* A device, and one thing that it waits for */
static struct wait {
	char device[64];
	unsigned int alike;		/* others of the same size */
	unsigned long mib;
	struct kind *kind;
} waits[MAX_WAITS];
static unsigned int nr_waits;

static struct kind *raced[MAX_KINDS * MAX_SIZES];	/* by the row's number */
static unsigned int nr_raced;
static double row_started;		/* on the clock of cpu_time() */

static void add_wait(const char *device, unsigned long mib, const char *what, const char *more)
{
	struct kind *kind = kinds;
	struct wait *wait = waits;

	while (kind < kinds + nr_kinds && (strcmp(kind->what, what) || strcmp(kind->more, more)))
		kind++;
	while (wait < waits + nr_waits && (wait->mib != mib || wait->kind != kind))
		wait++;
	if (wait < waits + nr_waits) {
		wait->alike++;
		return;
	}
	if (!mib || nr_waits == MAX_WAITS || kind == kinds + MAX_KINDS)
		return;
	if (kind == kinds + nr_kinds) {
		nr_kinds++;
		kind->what = what;
		kind->more = more;
		kind->grows = strstr(what, "plug");
	}
	if (mib > kind->wanted)
		kind->wanted = mib;
	nr_waits++;
	snprintf(wait->device, sizeof(wait->device), "%s", device);
	wait->mib = mib;
	wait->kind = kind;
}

static void add_system_ram(const char *device, unsigned long mib)
{
	add_wait(device, mib, "plug", "");
	add_wait(device, mib, "unplug", "");
}

/* @order: of its pages; @ram: its memmap is not on the device. */
static void add_bind(const char *device, unsigned long mib, unsigned int order, bool ram)
{
	static const char *const more[3][2] = {
		{ "", ":ram" }, { ":o9", ":o9:ram" }, { ":o18", ":o18:ram" }
	};

	add_wait(device, mib, "bind", more[order / 9][ram]);
}

/* A file below a folder of sysfs, "" if there is none */
static const char *read_file(const char *folder, const char *file)
{
	static char value[64];
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	read_value(path, "", value, sizeof(value));
	return value;
}

static unsigned long read_mib(const char *folder)
{
	return strtoul(read_file(folder, "size"), NULL, 0) / MIB;
}

/* Calls @add with each folder, and its name; returns the sum of what it returned. */
static unsigned long each(const char *pattern,
			  unsigned long (*add)(const char *folder, const char *name))
{
	unsigned long sum = 0;
	glob_t paths;

	if (!glob(pattern, 0, NULL, &paths))
		for (size_t i = 0; i < paths.gl_pathc; i++)
			sum += add(paths.gl_pathv[i], strrchr(paths.gl_pathv[i], '/') + 1);
	globfree(&paths);
	return sum;
}

/* Returns how many MiB are system RAM. */
static unsigned long add_dax(const char *folder, const char *name)
{
	unsigned long mib = read_mib(folder), align = strtoul(read_file(folder, "align"), NULL, 0);
	char link[512], driver[512] = "";
	bool ram;

	snprintf(link, sizeof(link), "%s/driver", folder);
	if (readlink(link, driver, sizeof(driver) - 1) < 0)
		*driver = 0;
	/* A namespace says where its memmap is; other memory has it in RAM. */
	ram = strcmp(read_file(folder, "../mode"), "pmem");
	if (strstr(driver, "/kmem") || !*driver)
		add_system_ram(name, mib);
	if (!strstr(driver, "/kmem"))
		add_bind(name, mib, strstr(driver, "/fsdev") || align < 2 * MIB ? 0 :
			 align < GIB ? 9 : 18, ram);
	return strstr(driver, "/kmem") ? mib : 0;
}

static unsigned long add_namespace(const char *folder, const char *name)
{
	char holder[80];

	/* That of a device-dax is such a device, and others have no struct pages. */
	if (strcmp(read_file(folder, "mode"), "memory"))
		return 0;
	snprintf(holder, sizeof(holder), "../%s", read_file(folder, "holder"));
	strcat(holder, "/mode");
	add_bind(name, read_mib(folder), 0, strcmp(read_file(folder, holder), "pmem"));
	return 0;
}

static unsigned long add_region(const char *folder, const char *name)
{
	add_system_ram(name, read_mib(folder));
	add_bind(name, read_mib(folder), 9, true);
	return 0;
}

/* Blocks that can go, or come */
static unsigned long count_plugged(const char *folder, const char *name)
{
	return !strcmp(read_file(folder, "state"), "offline") ||
	       !strncmp(read_file(folder, "valid_zones"), "Movable", 7);
}

static unsigned long count_block(const char *folder, const char *name)
{
	return 1;
}

static void find_memory(void)
{
	const char *blocks = "/sys/devices/system/memory/memory[0-9]*";
	unsigned long ram, plugged, all;

	ram = each("/sys/bus/dax/devices/*", add_dax);
	each("/sys/bus/nd/devices/namespace*", add_namespace);
	/* Else a region has such devices. */
	if (!nr_waits)
		each("/sys/bus/cxl/devices/region*", add_region);
	plugged = each(blocks, count_plugged) * block_mib();
	all = each(blocks, count_block) * block_mib();
	/* DIMMs, virtio-mem and others */
	if (plugged > ram)
		add_system_ram("plugged memory", plugged - ram);
	else
		plugged = ram;
	if (!nr_waits)
		printf("no dax device, namespace, CXL region or plugged memory is here: "
		       "give a size, such as --for 2T\n");
	if (all > plugged)
		add_wait("this machine", all - plugged, "deferred", "");
}

static void add_asked(const char *text)
{
	unsigned long mib;
	char *end;

	mib = strtoul(text, &end, 10) * (*end == 'T' ? 1024 * 1024 : 1024);
	if (!mib || (*end != 'T' && *end != 'G') || end[1])
		die("--for %s: give a size such as 2T or 512G", text);
	add_system_ram("CXL memory", mib);
	add_bind("CXL memory", mib, 9, true);
	add_bind("persistent memory", mib, 0, false);
	add_wait("memory at boot", mib, "deferred", "");
}

static void add_size(struct kind *kind, unsigned long mib)
{
	char text[48];

	snprintf(text, sizeof(text), "%s:%lu%s", kind->what, mib / 1024, kind->more);
	add_row(text);
	raced[nr_raced++] = kind;
}

/* After a row: keeps what it took, and adds one of twice the size if that helps, and fits. */
static void note_row(unsigned int number)
{
	struct kind *kind = raced[number];
	struct size *size = &kind->sizes[kind->nr_sizes++];
	double now = cpu_time(), took = now - row_started;

	row_started = now;
	size->mib = row_mib(number);
	for (int i = 0; i < 2; i++)
		size->seconds[i] = race_time(i) / 1000;
	describe_row(number, kind->name, sizeof(kind->name));
	/*
	 * Twice the memory takes up to four times as long, and there may be another such kind. Its
	 * memmap is there twice: three quarters of the free memory are enough for it.
	 */
	if (kind->grows && size->mib < kind->wanted && kind->nr_sizes < MAX_SIZES &&
	    now + 8 * took < LIMIT && size->mib * MIB / 12 < free_memory())
		add_size(kind, 2 * size->mib);
}

/* The smallest measured size that is not below, or the largest */
static const struct size *find_size(const struct wait *wait)
{
	const struct size *size = wait->kind->sizes;

	while (size < wait->kind->sizes + wait->kind->nr_sizes - 1 && size->mib < wait->mib)
		size++;
	return size;
}

static bool is_least(const struct wait *wait)
{
	return wait->kind->grows && find_size(wait)->mib < wait->mib;
}

static double find_seconds(const struct wait *wait, unsigned int runner)
{
	const struct size *first = wait->kind->sizes, *size = find_size(wait);
	double per_mib = size->seconds[runner] / size->mib, growth;

	if (runner || size == first)
		return per_mib * wait->mib;
	/* What a MiB takes grows with the memory. */
	growth = (per_mib - first->seconds[0] / first->mib) / (size->mib - first->mib);
	if (growth > 0)
		per_mib += growth * ((double)wait->mib - size->mib);
	return per_mib * wait->mib;
}

static void print_seconds(const struct wait *wait)
{
	if (is_least(wait))
		printf("at least ");
	for (int i = 0; i < 2; i++) {
		double s = find_seconds(wait, i);

		printf(s < 1 ? "%.2g%s" : s < 100 ? "%.1f%s" : "%.0f%s", s, i ? " s" : " -> ");
	}
}

/* From what it is computed */
static void print_source(const struct wait *wait)
{
	const struct size *first = wait->kind->sizes, *size = find_size(wait);

	if (size->mib == wait->mib) {
		printf(" (measured)\n");
	} else if (size == first) {
		printf(" (from %g GiB, in proportion)\n", size->mib / 1024.0);
	} else {
		printf(" (from %g and %g GiB, as it grows; patched in proportion)\n",
		       first->mib / 1024.0, size->mib / 1024.0);
	}
}

static bool is_same_device(const struct wait *wait)
{
	return wait > waits && wait->mib == wait[-1].mib && !strcmp(wait->device, wait[-1].device);
}

static void print_waits(void)
{
	for (struct wait *wait = waits; wait < waits + nr_waits; wait++) {
		if (!is_same_device(wait)) {
			printf("%s, %g GiB", wait->device, wait->mib / 1024.0);
			printf(wait->alike ? ", and %u more, each\n" : "\n", wait->alike);
		}
		printf("  %-56s ", wait->kind->name);
		print_seconds(wait);
		print_source(wait);
	}
}

/* All of it in one line */
static void print_line(void)
{
	struct utsname host;
	char cpu[128];

	uname(&host);
	read_value("/proc/cpuinfo", "model name\t: ", cpu, sizeof(cpu));
	printf("\nto paste: %s, returns %s, runs %s, blocks of %lu MiB; Linux 7.3 -> patched", cpu,
	       boot_returns, host.release, block_mib());
	for (struct wait *wait = waits; wait < waits + nr_waits; wait++) {
		if (!is_same_device(wait))
			printf("; %s, %g GiB", wait->device, wait->mib / 1024.0);
		printf(", %s%s ", wait->kind->what, wait->kind->more);
		print_seconds(wait);
	}
	printf("\n");
}

int estimate(int nr, char **words)
{
	const char *path = NOWHERE, *asked = NULL;

	for (int i = 0; i < nr; i += 2) {
		bool is_file = !strcmp(words[i], "--json");

		if (i + 1 == nr || (!is_file && strcmp(words[i], "--for")))
			die("%s: give --for SIZE, such as 2T or 512G, or --json FILE", words[i]);
		*(is_file ? &path : &asked) = words[i + 1];
	}
	path = name_samples(path);
	if (asked)
		add_asked(asked);
	find_memory();
	for (unsigned int i = 0; i < nr_kinds; i++)
		add_size(&kinds[i], FIRST_MIB);
	print_cpu();
	printf("seconds of one core, Linux 7.3 -> patched, in about a minute; left out: locks, "
	       "TLB flushes, drivers, several threads\n");
	row_started = cpu_time();
	run_rows(NR_PLACES, path, 2, note_row);
	print_waits();
	print_line();
	return 0;
}
