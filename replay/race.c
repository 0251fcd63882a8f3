// SPDX-License-Identifier: GPL-2.0
/* A race: the runners take turns, and all samples are written. Python summarises them. */
#include "userspace.h"

const char *name_kernel(unsigned int runner)
{
	return runner < nr_kernels ? kernels[runner].name : "limit";
}

static void write_samples(FILE *json, const struct race *race, unsigned int figure,
			  const double *samples)
{
	fprintf(json, "\"%s\": {", race->figures[figure]);
	for (unsigned int i = 0; i < race->nr_runners; i++) {
		fprintf(json, "%s\"%s\": [", i ? ", " : "", race->name_runner(i));
		for (unsigned int round = 0; round < race->rounds; round++)
			fprintf(json, "%s%.4f", round ? ", " : "",
				samples[(round * race->nr_runners + i) * MAX_FIGURES + figure]);
		fprintf(json, "]");
	}
	fprintf(json, "}%s", race->figures[figure + 1] ? ", " : "}");
}

int run_race(struct race *race, int nr, char **words)
{
	FILE *json = nr > 1 ? fopen(words[1], "w") : stdout;
	double *samples;

	race->rounds = read_within(nr, words, 0, 15, 1000, "rounds:");
	samples = map_at(0, sizeof(double) * race->rounds * race->nr_runners * MAX_FIGURES);
	if (!json)
		die("cannot write %s: choose another file", words[1]);
	crash_context = "race";
	fprintf(json, "{\"unit\": \"%s\",\n", race->unit);
	if (race->alternatives)
		fprintf(json, "\"alternatives\": \"%s\",\n", race->alternatives);
	fprintf(json, "\"results\": [");
	for (unsigned int row = 0; row < race->nr_rows; row++) {
		if (race->start_row)
			race->start_row(row);
		/* Whatever drifts during a round must not always hit the same one: rotate. */
		for (unsigned int round = 0; round < race->rounds; round++)
			for (unsigned int i = 0; i < race->nr_runners; i++) {
				unsigned int n = (i + round) % race->nr_runners;

				crash_kernel = race->name_runner(n);
				race->time_one(row, n, &samples[(round * race->nr_runners + n) *
								MAX_FIGURES]);
			}
		fprintf(json, "%s\n{", row ? "," : "");
		race->write_row(json, row);
		for (unsigned int i = 0; race->figures[i]; i++)
			write_samples(json, race, i, samples);
	}
	fprintf(json, "]}\n");
	if (fclose(json))
		die("cannot write the samples: is the disk full?");
	return 0;
}
