// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel side of the copy replay: the ways in which a kernel can copy. The kernel
 * replaces some instructions when it boots. main.c does so in memcpy(); the others
 * are as compiled: clean_cache_range() uses CLFLUSH, not CLWB.
 */
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#if __has_include("linux/memcpy_nt.h")
#include <linux/memcpy_nt.h>
#endif

#include "copy.h"

struct cpuinfo_x86 boot_cpu_data = { .x86_clflush_size = 64 };

static void copy_memcpy(void *to, const void *from, unsigned long n)
{
	memcpy(to, from, n);
}

static void copy_nontemporal(void *to, const void *from, unsigned long n)
{
	if (copy_to_nontemporal(to, from, n))
		__builtin_trap();
}

static void copy_flushcache(void *to, const void *from, unsigned long n)
{
	__memcpy_flushcache(to, from, n);
}

#ifdef memcpy_nt
static void copy_nt(void *to, const void *from, unsigned long n)
{
	if (n == 64)
		memcpy_nt(to, from, 64);
	else if (n == 128)
		memcpy_nt(to, from, 128);
	else
		memcpy_nt(to, from, n);
}
#endif

static const struct copy_routine routines[] = {
	{ "memcpy", copy_memcpy },
	{ "copy_to_nontemporal", copy_nontemporal },
	{ "__memcpy_flushcache", copy_flushcache },
#ifdef memcpy_nt
	{ "memcpy_nt", copy_nt },
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
	.memcpy = __memcpy,
};
