// SPDX-License-Identifier: GPL-2.0
/* The command line of both programs: settings, then a command and its words. */
#include <stdlib.h>
#include <string.h>

#include "host.h"

static int nr_settings;
static char **settings;

const char *find_setting(const char *name)
{
	size_t length = strlen(name);

	for (int i = 0; i < nr_settings; i++)
		if (!strncmp(settings[i], name, length) && settings[i][length] == '=')
			return settings[i] + length + 1;
	return NULL;
}

static void __attribute__((noreturn)) refuse(const char *kind, const char *word)
{
	fputs(usage, stderr);
	die("\"%s\" is no %s", word, kind);
}

unsigned long read_number(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 0);

	if (!*text || *end || *text == '-')
		refuse("number", text);
	return n;
}

unsigned long read_word(int nr, char **words, int which, unsigned long missing)
{
	return which < nr ? read_number(words[which]) : missing;
}

unsigned long read_within(int nr, char **words, int which, unsigned long missing,
			  unsigned long most, const char *message)
{
	unsigned long n = read_word(nr, words, which, missing);

	if (!n || n > most)
		die("%s 1 to %lu", message, most);
	return n;
}

static int print_version(void)
{
	size_t length = strlen(program_facts);

	/* Each has a comma behind it. */
	printf("{%.*s}\n", length > 2 ? (int)length - 2 : 0, program_facts);
	return 0;
}

static int print_info(void)
{
	printf("struct page of %u bytes, compound_info is a %s%s%s\nkernels:",
	       layout->page_struct_size, layout->has_mask() ? "mask" : "pointer",
	       layout->can_check ? ", with check_pages=" : "",
	       layout->can_trace ? ", with the page_ref_set tracepoint" : "");
	for (unsigned int i = 0; i < nr_kernels; i++)
		printf(" %s", kernels[i].name);
	printf("\n");
	return 0;
}

int main(int argc, char **argv)
{
	int nr;

	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return fputs(usage, stdout) < 0;
	if (argc == 2 && !strcmp(argv[1], "--version"))
		return print_version();
	/* Who reads a log or a pipe has each line when it is told. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	catch_crashes();
	find_kernels();
	settings = argv + 1;
	while (nr_settings + 1 < argc && strchr(settings[nr_settings], '='))
		nr_settings++;
	for (int i = 0; i < nr_settings; i++) {
		size_t length = strcspn(settings[i], "=");
		const char *const *known = setting_names;

		while (*known && (strncmp(*known, settings[i], length) || (*known)[length]))
			known++;
		if (!*known)
			refuse("setting", settings[i]);
	}
	boot_kernels();
	argv += 1 + nr_settings;
	nr = argc - 1 - nr_settings;
	if (!nr)
		return run_all();
	if (nr == 1 && !strcmp(argv[0], "info"))
		return print_info();
	for (const struct command *c = commands; c->name; c++)
		if (!strcmp(c->name, argv[0]) && nr - 1 <= c->most)
			return c->run(nr - 1, argv + 1);
	refuse("command with these words", argv[0]);
}
