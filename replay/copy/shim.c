// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel side of the copy replay: the ways in which a kernel can copy.
 */
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#if __has_include("linux/memcpy_nt.h")
#include <linux/memcpy_nt.h>
#endif

#include "copy.h"
#include "../thunks.h"

struct cpuinfo_x86 boot_cpu_data = { .x86_clflush_size = 64 };

static __always_inline void checked_nontemporal(void *to, const void *from, unsigned long n)
{
	if (copy_to_nontemporal(to, from, n))
		__builtin_trap();
}

#ifdef memcpy_nt
/* A size of 64 is a constant, as it is where it is inlined. */
static __always_inline void mixed_nt(void *to, const void *from, unsigned long n)
{
	if (n == 64)
		memcpy_nt(to, from, 64);
	else
		memcpy_nt(to, from, n);
}
#endif

/* The barrier makes each copy load its source, as a caller that has another one each time. */
#define DEFINE_COPY(routine)						\
static void copy_##routine(void *to, const void *from, unsigned long n)	\
{									\
	routine(to, from, n);						\
}									\
									\
static void copy_64_##routine(void *to, const void *from,		\
			      unsigned long nr, unsigned long apart)	\
{									\
	for (; nr--; to += apart) {					\
		routine(to, from, 64);					\
		barrier();						\
	}								\
}

DEFINE_COPY(memcpy)
DEFINE_COPY(checked_nontemporal)
DEFINE_COPY(__memcpy_flushcache)
#ifdef memcpy_nt
DEFINE_COPY(mixed_nt)
#endif

#define ROUTINE(name, routine)	{ name, copy_##routine, copy_64_##routine }

static const struct copy_routine routines[] = {
	ROUTINE("memcpy", memcpy),
	ROUTINE("copy_to_nontemporal", checked_nontemporal),
	ROUTINE("__memcpy_flushcache", __memcpy_flushcache),
#ifdef memcpy_nt
	ROUTINE("memcpy_nt", mixed_nt),
#endif
	{ }
};

static const struct replay_layout layout = {
	.page_struct_size = sizeof(struct page),
	.page_shift = PAGE_SHIFT,
};

/* The only symbol that stays visible; renamed per tree. */
extern struct copy_side replay_side;
struct copy_side replay_side = {
	.side = {
		.layout = &layout,
	},
	.routines = routines,
};
