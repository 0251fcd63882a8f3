// SPDX-License-Identifier: GPL-2.0
/*
 * Not a program: tests/matrix/test_string.py compiles this with the headers of a kernel
 * tree and counts the MOVNTI. Each of the two calls has to execute its own, or
 * the second field stays in the cache.
 */
#include <linux/string.h>
#include <linux/types.h>

struct entry {
	u64 seq;
	u64 gen;
};

static __used noinline u64 set_entry(struct entry *e, u64 v)
{
	u64 r;

	memcpy_flushcache(&e->seq, &v, sizeof(v));
	r = e->seq;
	memcpy_flushcache(&e->gen, &v, sizeof(v));
	return r;
}
