/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included before every file of the UML kernel for KUnit. UML's own
 * smp_store_release() has an MFENCE, which would make up for a missing
 * memcpy_nt_drain(); this is what an x86 kernel has instead.
 */
#define __smp_store_release(p, v) do { barrier(); WRITE_ONCE(*(p), v); } while (0)
