// SPDX-License-Identifier: GPL-2.0
/* The kernels that are linked, and how the program gives up. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "userspace.h"

struct kernel kernels[MAX_KERNELS];
unsigned int nr_kernels;
const struct replay_layout *layout;
unsigned long replay_pgmap[512];

void die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fprintf(stderr, "replay: ");
	vfprintf(stderr, format, arguments);
	fprintf(stderr, "\n");
	exit(2);
}

void *map_at(unsigned long where, size_t bytes)
{
	void *made = mmap((void *)where, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			  MAP_ANONYMOUS | MAP_NORESERVE | (where ? MAP_FIXED_NOREPLACE : 0), -1, 0);

	if (made == MAP_FAILED || (where && made != (void *)where))
		die("cannot map %zu MiB: free some memory, or raise ulimit -v", bytes / MIB);
	return made;
}

/* Of the kernels that are linked: each the start of a struct of the program's own. */
extern __attribute__((weak)) const struct replay_side base_side, series_side, fallback_side,
	peer_side;

void find_kernels(void)
{
	static const struct kernel all[] = {
		{ "base", &base_side, false },
		{ "series", &series_side, false },
		{ "fallback", &fallback_side, false },
		{ "peer", &peer_side, true },
	};

	layout = base_side.layout;
	for (unsigned int i = 0; i < sizeof(all) / sizeof(*all); i++) {
		const struct kernel *k = &all[i];
		unsigned int size;

		if (!k->side)
			continue;
		kernels[nr_kernels++] = *k;
		size = k->side->layout->page_struct_size;
		if (size != layout->page_struct_size)
			die("struct page has %u bytes in %s, %u in base: keep its size, "
			    "or leave %s out", size, k->name, layout->page_struct_size, k->name);
	}
}

const char *field_at(unsigned long page, unsigned int offset)
{
	const struct replay_field *f;

	for (int i = 0; i < 2; i++)
		for (f = i ? layout->fields : kernels[0].side->fields; f->name; f++)
			if (offset >= f->offset && offset < f->offset + f->size &&
			    (f->page == page || !strncmp(f->name, "page.", 5)))
				return f->name;
	return "padding";
}
