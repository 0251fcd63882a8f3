// SPDX-License-Identifier: GPL-2.0
/* The command line of all replay programs. */
#include <stdlib.h>
#include <string.h>

#include "userspace.h"

unsigned long read_argument(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 0);

	if (!*text || *end || *text == '-') {
		fputs(usage, stderr);
		die("\"%s\" is no number", text);
	}
	return n;
}

unsigned long read_word(int nr, char **words, int which, unsigned long missing)
{
	return which < nr ? read_argument(words[which]) : missing;
}

unsigned long read_within(int nr, char **words, int which, unsigned long missing,
			  unsigned long most, const char *what)
{
	unsigned long n = read_word(nr, words, which, missing);

	if (!n || n > most)
		die("%s 1 to %lu", what, most);
	return n;
}

unsigned int read_rounds(int nr, char **words, int which)
{
	return read_within(nr, words, which, 15, MAX_ROUNDS, "rounds:");
}

static void print_info(void)
{
	describe_program();
	printf("kernels:");
	for (unsigned int i = 0; i < nr_kernels; i++)
		printf(" %s", kernels[i].name);
	printf("%s\n", layout->can_trace ? ", with the page_ref_set tracepoint" : "");
}

int run_command(int nr, char **words)
{
	if (nr == 1 && !strcmp(words[0], "info")) {
		print_info();
		return 0;
	}
	for (const struct command *c = commands; nr && c->name; c++)
		if (!strcmp(c->name, words[0]) && nr - 1 <= c->most)
			return c->run(nr - 1, words + 1);
	fputs(usage, stderr);
	return 2;
}

int main(int argc, char **argv)
{
	crash_catch();
	find_kernels();
	prepare_kernels();
	return run_command(argc - 1, argv + 1);
}
