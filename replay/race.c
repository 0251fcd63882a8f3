// SPDX-License-Identifier: GPL-2.0
/*
 * A race: the runners take turns, and all samples are written, with what tells one machine and one
 * program from another.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "host.h"

static const struct race *race;
static unsigned int nr_figures;	/* of the row */
static double *samples;		/* of the row: [round][runner][figure] */

const char *name_kernel(unsigned int runner)
{
	return runner < nr_kernels ? kernels[runner].name : "bound";
}

static double sample(unsigned int round, unsigned int runner, unsigned int figure)
{
	return samples[(round * race->nr_runners + runner) * MAX_FIGURES + figure];
}

double race_time(unsigned int runner)
{
	double times[race->rounds];

	for (unsigned int round = 0; round < race->rounds; round++)
		times[round] = sample(round, runner, 0);
	return median(times, race->rounds);
}

double race_ratio_of(unsigned int over, unsigned int under, unsigned int first,
		     unsigned int step)
{
	double ratios[race->rounds];
	unsigned int n = 0;

	for (unsigned int round = first; round < race->rounds; round += step)
		ratios[n++] = sample(round, over, 0) / sample(round, under, 0);
	return n ? median(ratios, n) : NAN;
}

double race_ratio(unsigned int over, unsigned int under)
{
	return race_ratio_of(over, under, 0, 1);
}

static void write_samples(FILE *json, unsigned int figure)
{
	fprintf(json, "\"%s\": {", race->figures[figure]);
	for (unsigned int i = 0; i < race->nr_runners; i++) {
		fprintf(json, "%s\"%s\": [", i ? ", " : "", race->name_runner(i));
		for (unsigned int round = 0; round < race->rounds; round++)
			fprintf(json, "%s%.6g", round ? ", " : "", sample(round, i, figure));
		fprintf(json, "]");
	}
	fprintf(json, "}%s", figure + 1 < nr_figures ? ", " : "}");
}

/* "name": the value of a line of /proc/cpuinfo, or of another file */
static void write_value(FILE *json, const char *name, const char *path, const char *key)
{
	char value[256];

	read_value(path, key, value, sizeof(value));
	for (char *c = value; *c; c++)
		if (*c == '"' || *c == '\\' || *c < ' ')
			*c = ' ';
	fprintf(json, "\"%s\": \"%s\",\n", name, value);
}

static void write_machine(FILE *json)
{
	static char flags[16384];
	struct utsname host;
	char date[32];
	time_t now = time(NULL);

	uname(&host);
	strftime(date, sizeof(date), "%Y-%m-%d", gmtime(&now));
	read_value("/proc/cpuinfo", "flags\t\t:", flags, sizeof(flags));
	write_value(json, "vendor", "/proc/cpuinfo", "vendor_id\t: ");
	write_value(json, "family", "/proc/cpuinfo", "cpu family\t: ");
	write_value(json, "model", "/proc/cpuinfo", "model\t\t: ");
	write_value(json, "name", "/proc/cpuinfo", "model name\t: ");
	write_value(json, "stepping", "/proc/cpuinfo", "stepping\t: ");
	fprintf(json, "\"amx\": %u, \"hypervisor\": %u, \"cpus\": %ld, \"memory_gib\": %.0f,\n",
		!!strstr(flags, " amx_tile"), !!strstr(flags, " hypervisor"),
		sysconf(_SC_NPROCESSORS_ONLN),
		(double)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / GIB);
	fprintf(json, "\"host_kernel\": \"%s\", \"date\": \"%s\",\n", host.release, date);
	fprintf(json, "\"returns\": \"%s\", \"because\": \"%s\", \"alternatives\": \"%s\",\n",
		boot_returns, boot_reason, boot_features);
	fprintf(json, "%s\n\"unit\": \"%s\",\n", program_facts, race->unit);
}

/* Ticks that the hypervisor gave to other guests, and all ticks, of all CPUs */
static void read_ticks(unsigned long ticks[2])
{
	char line[256], *at = line;

	read_value("/proc/stat", "cpu ", line, sizeof(line));
	ticks[1] = 0;
	for (int i = 0; i < 8; i++) {
		ticks[0] = strtoul(at, &at, 10);
		ticks[1] += ticks[0];
	}
}

static void run_row(FILE *json, unsigned int row)
{
	unsigned long before[2], after[2];

	if (race->start_row)
		race->start_row(row);
	for (nr_figures = 0; nr_figures < MAX_FIGURES && race->figures[nr_figures]; nr_figures++)
		;
	read_ticks(before);
	/* Whatever drifts during a round must not always hit the same one: rotate. */
	for (unsigned int round = 0; round < race->rounds; round++)
		for (unsigned int i = 0; i < race->nr_runners; i++) {
			unsigned int n = (i + round) % race->nr_runners;

			crash_kernel = race->name_runner(n);
			race->time_one(row, n, round, &samples[(round * race->nr_runners + n) *
							       MAX_FIGURES]);
		}
	crash_kernel = NO_KERNEL;
	read_ticks(after);
	fprintf(json, "%s\n{", row ? "," : "");
	race->write_row(json, row);
	fprintf(json, "\"stolen\": %.3f, ",
		(double)(after[0] - before[0]) / (after[1] - before[1] ?: 1));
	for (unsigned int i = 0; i < nr_figures; i++)
		write_samples(json, i);
}

const char *name_samples(const char *file)
{
	static char path[32];

	if (strcmp(file, "-"))
		return file;
	snprintf(path, sizeof(path), "/dev/fd/%d", dup(STDOUT_FILENO));
	dup2(STDERR_FILENO, STDOUT_FILENO);
	return path;
}

void run_race(const struct race *wanted, const char *path)
{
	FILE *json;

	need_imitation();
	json = path ? fopen(path, "w") : stdout;
	if (!json)
		die("cannot write %s: choose another file", path);
	race = wanted;
	samples = map_at(0, sizeof(double) * race->rounds * race->nr_runners * MAX_FIGURES);
	crash_context = "race";
	fprintf(json, "{");
	write_machine(json);
	fprintf(json, "\"results\": [");
	for (unsigned int row = 0; row < race->nr_rows; row++) {
		run_row(json, row);
		if (race->tell_row)
			race->tell_row(row);
	}
	fprintf(json, "]}\n");
	if (fclose(json))
		die("cannot write the samples: is the disk full?");
}
