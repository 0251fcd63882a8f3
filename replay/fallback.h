/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included before anything else, makes memcpy_nt() the generic one, as on an
 * architecture that has none of its own.
 */
#include <asm/string.h>
#undef arch_memcpy_nt
#undef arch_memcpy_nt_drain
#define arch_memcpy_nt_drain() do { } while (0)

#ifdef memcpy_nontemporal
/* Of Li Zhe's v11: see harness/kernel/tree.py */
#undef memcpy_nontemporal
#define memcpy_nontemporal(dst, src, n) memcpy(dst, src, n)
#endif
