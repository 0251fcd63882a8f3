// SPDX-License-Identifier: GPL-2.0
/* The command line of all replay programs. */
#include <stdlib.h>
#include <string.h>

#include "userspace.h"

unsigned long read_word(int nr, char **words, int which, unsigned long missing)
{
	char *text, *end;
	unsigned long n;

	if (which >= nr)
		return missing;
	text = words[which];
	n = strtoul(text, &end, 0);
	if (!*text || *end || *text == '-') {
		fputs(usage, stderr);
		die("\"%s\" is no number", text);
	}
	return n;
}

unsigned long read_within(int nr, char **words, int which, unsigned long missing,
			  unsigned long most, const char *what)
{
	unsigned long n = read_word(nr, words, which, missing);

	if (!n || n > most)
		die("%s 1 to %lu", what, most);
	return n;
}

static void print_info(void)
{
	printf("struct page of %u bytes", layout->page_struct_size);
	if (layout->has_mask)
		printf(", compound_info is a %s", layout->has_mask() ? "mask" : "pointer");
	printf("%s%s\nkernels:", layout->can_check ? ", with check_pages=" : "",
	       layout->can_trace ? ", with the page_ref_set tracepoint" : "");
	for (unsigned int i = 0; i < nr_kernels; i++)
		printf(" %s", kernels[i].name);
	printf("\n");
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
