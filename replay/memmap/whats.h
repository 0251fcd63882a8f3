/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is raced and compared; report/rows.py reads it, too. Of each: its name on the command line,
 * what a user waits for, the unit of its rows in docs/results.md ("s": seconds of one core per TiB,
 * "ns": ns per struct page that is written), what runs, and what of it is left out.
 */
WHAT(FILL, "fill", "fill", "ns",
     "`memmap_init_zone_device()`: the struct pages of a device",
     "what else a bind does")
WHAT(BIND, "bind", "bind and unbind", "s",
     "that, before it `__populate_section_memmap()` for each section, and behind it `arch_remove_memory()`",
     "the driver, sysfs, the hotplug lock, grace periods, TLB flushes, the direct map")
WHAT(DEFERRED, "deferred", "boot: deferred memory", "ns",
     "`deferred_init_memmap()`: boot initialises free memory late, and frees it to the allocator",
     "what else boot does")
WHAT(RESERVED, "reserved", "boot: reserved memory", "ns",
     "`memblock_free_all()` where all memory is reserved; of CMA `cma_init_reserved_areas()`, too, as by `hugetlb_cma=` or a large `cma=`; of KHO first `kho_preserved_memory_reserve()` of each huge page of 2 MiB that kexec handover preserved",
     "what else boot does")
WHAT(ONLINE, "online", "bring system RAM online", "ns",
     "`online_pages()` for each memory block",
     "notifiers, sysfs, uevents, watermarks of many CPUs")
WHAT(OFFLINE, "offline", "take system RAM offline", "ns",
     "`offline_pages()` for each memory block: all free, or half of it used by pages that go elsewhere",
     "the same, grace periods, drains, and copying what is in use")
WHAT(PLUG, "plug", "plug system RAM: add, online", "s",
     "`add_memory_resource()`: `arch_add_memory()` allocates the memmap and, in the base, zeroes it; then all blocks come online. The samples have both parts, `add` and `online`",
     "as `online`; the direct map")
WHAT(UNPLUG, "unplug", "unplug system RAM: offline, remove", "s",
     "`offline_pages()` for each memory block, and `__remove_memory()`: `offline` and `remove`",
     "as `offline`; TLB flushes, the direct map")
