// SPDX-License-Identifier: GPL-2.0
/*
 * Use a device as an application does, through a mapping.
 *
 *	use map FILE	keep its first 2 MiB mapped, with no descriptor, in the background
 *	use write FILE	fill them with a pattern
 *	use check FILE	read the pattern
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define WORDS ((2 << 20) / sizeof(uint64_t))

int main(int argc, char **argv)
{
	const char *what = argc == 3 ? argv[1] : "";
	int fd = argc == 3 ? open(argv[2], O_RDWR) : -1;
	uint64_t *words;

	if (fd < 0)
		err(1, "usage: use map|write|check FILE");
	words = mmap(NULL, WORDS * sizeof(*words), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (words == MAP_FAILED)
		err(1, "cannot map %s", argv[2]);
	close(fd);
	for (size_t i = 0; i < WORDS; i++) {
		uint64_t pattern = (i + 1) * 0x9e3779b97f4a7c15;

		if (!strcmp(what, "write"))
			words[i] = pattern;
		else if (!strcmp(what, "check") && words[i] != pattern)
			errx(1, "%s: word %zu is wrong", argv[2], i);
	}
	/* The parent ends when the child has what it is to keep. */
	if (!strcmp(what, "map") && !daemon(0, 0))
		pause();
	return 0;
}
