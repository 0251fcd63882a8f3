// SPDX-License-Identifier: GPL-2.0
/*
 * Use a device as an application does.
 *
 *	use open FILE	keep it open, in the background
 *	use map FILE	keep its first 2 MiB mapped, with no descriptor, in the background
 *	use write FILE	fill them with a pattern through a mapping, and read it through another
 *	use check FILE	read the pattern
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define WORDS ((2 << 20) / sizeof(uint64_t))

static uint64_t *map(const char *file)
{
	void *words;
	int fd;

	fd = open(file, O_RDWR);
	if (fd < 0)
		err(1, "cannot open %s", file);
	words = mmap(NULL, WORDS * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (words == MAP_FAILED)
		err(1, "cannot map %s", file);
	close(fd);
	return words;
}

static uint64_t pattern(size_t i)
{
	return (i + 1) * 0x9e3779b97f4a7c15;
}

static void check(const char *file)
{
	uint64_t *words = map(file);

	for (size_t i = 0; i < WORDS; i++)
		if (words[i] != pattern(i))
			errx(1, "%s: word %zu is %#llx, not %#llx", file, i,
			     (unsigned long long)words[i], (unsigned long long)pattern(i));
}

int main(int argc, char **argv)
{
	const char *what = argc == 3 ? argv[1] : "", *file = argv[argc - 1];

	if (!strcmp(what, "check")) {
		check(file);
		return 0;
	}
	if (!strcmp(what, "write")) {
		uint64_t *words = map(file);

		for (size_t i = 0; i < WORDS; i++)
			words[i] = pattern(i);
		munmap(words, WORDS * sizeof(uint64_t));
		check(file);
		return 0;
	}
	if (!strcmp(what, "open")) {
		if (open(file, O_RDWR) < 0)
			err(1, "cannot open %s", file);
	} else if (!strcmp(what, "map")) {
		map(file);
	} else {
		errx(2, "usage: use open|map|write|check FILE");
	}
	/* The parent ends when the child has what it is to keep. */
	if (daemon(0, 0))
		err(1, "cannot go to the background");
	pause();
	return 0;
}
