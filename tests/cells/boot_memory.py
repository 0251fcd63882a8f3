# SPDX-License-Identifier: GPL-2.0
"""Boots that use memory: what boot initialised, by several command lines, and what is hot-added.

Guests of more than 4 GiB: on x86-64 and arm64 only the highest zone of a node is deferred.
"""

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from cells import peers
from cells.boots import Boot
from cells.kunit import TESTED
from harness.core import Options
from harness.kernel.config import BOOTED, MEASURED, KernelConfig
from harness.vm.initramfs import SELFTESTS
from harness.vm.userland import find_program, pack_programs

DEBUG = KernelConfig("pages", (*MEASURED.fragments, "tracers", "debug", "kprobes", "pages"))
# With erms, x86-64 clears a page by rep stosb, which TCG does byte by byte.
QUICK = "clearcpuid=erms"
# Under TCG, a fault takes a kernel that checks pages 0.2 ms, and all of memory in small pages
# minutes. So it fills few MiB of them.
FEW = "zdm.small=256"
FILL = "boot-memory,boot-memory-fill"
HOTPLUG = f"{FILL},boot-memory-hotplug"
ONLINE = f"{HOTPLUG},boot-memory-read,boot-memory-online"
READ = f"{HOTPLUG},boot-memory-read"
SELFTEST = "memory-hotplug/mem-on-off-test.sh"
# What HOTPLUG adds: two DIMMs.
SLOTS = (
    "-m slots=2,maxmem=16G "
    "-object memory-backend-ram,id=dimm0-memory,size=512M,reserve=off "
    "-object memory-backend-ram,id=dimm1-memory,size=512M,reserve=off"
)
# It is empty at first. Its driver decides page by page what becomes of all memory that is onlined.
VIRTIO_MEM = (
    "-object memory-backend-ram,id=virtio-mem0-memory,size=512M,reserve=off "
    "-device virtio-mem-pci,id=virtio-mem0,memdev=virtio-mem0-memory,requested-size=0"
)
# The kernel's own test tries to offline boot memory, too, which this refuses.
REFUSED = "page dumped because: unmovable page"


def pack_files(options: Options, source: Path) -> dict[str, bytes]:
    """Return the kernel's own test of hotplug for the guest, and what it needs: on x86-64 only."""
    if options.arch != "x86_64":
        return {}
    test = (source / SELFTESTS / SELFTEST).read_bytes()
    return pack_programs(find_program("bash")) | {SELFTEST: test}


def use_memory(
    words: str = "",
    scripts: str = FILL,
    config: KernelConfig = TESTED,
    ram_gib: int = 5,
    nodes: int = 1,
    virtio_mem: bool = False,
) -> Boot:
    """Return a boot that uses memory. virtio_mem is whether the guest has such a device.

    words are for the kernel's command line. Where they do not say otherwise, memory is to be
    deferred on all nodes, and none is to be ZONE_MOVABLE. The guest takes the last word of a name.
    """
    return Boot(
        scripts,
        f"zdm.deferred={nodes} zdm.movable=0 {FEW * (config is DEBUG)} {QUICK} {words}",
        config,
        pack_files,
        ram_gib=ram_gib,
        nodes=nodes,
        args=f"{SLOTS * scripts.startswith(HOTPLUG)} {VIRTIO_MEM * virtio_mem}".split(),
        harmless=lambda line: scripts == ONLINE and REFUSED in line,
    )


# CPUs and nodes of the guests in which base and series have to have the same memory.
SHAPES = ((1, 1), (1, 2), (2, 1), (2, 2))
# Two boots of one kernel differ by less. Deferred initialisation frees 1024 pages at once, so a
# fault in it would lose more.
LOST_PAGES = 512
ZONE = re.compile(r"zone: (\d+, \w+), (\d+) present, (\d+) managed, (\d+) free")
# The room that a part of the kernel's image leaves in its last 2 MiB.
GAP = re.compile(r"Freeing unused kernel image \(\w+/\w+ gap\) memory: (\d+)K")
AVAILABLE = re.compile(r"Memory: (\d+)K/\d+K available")

ONE_CPU = re.compile(r"Brought up \d+ nodes?, 1 CPU$", re.M)


def read_zones(console: str) -> tuple[list[str], int]:
    """Return what must be the same in each boot of a guest, and how many pages are free.

    That is what each zone has and manages, less the gaps of the kernel's image: a page more of code
    leaves a page less. With one CPU, it is also what is free after deferred initialisation.
    """
    gaps = sum(map(int, GAP.findall(console))) // 4
    told, free = [], 0
    for name, present, managed, left in ZONE.findall(console):
        # With nokaslr, the kernel lies at 16 MiB.
        fixed = int(managed) - gaps * (name == "0, DMA32")
        told.append(f"zone {name}: {present} pages present, {fixed} managed")
        free += int(left)
    if ONE_CPU.search(console):
        told += [f"{kib} KiB free after boot" for kib in AVAILABLE.findall(console)]
    return told, free


def compare_zones(base: str, series: str) -> str:
    """Return in what the memory of two boots of a guest differs, empty if it does not."""
    (want, free), (have, left) = read_zones(base), read_zones(series)
    if not want or want != have:
        return f"base has {'; '.join(want)}\nseries has {'; '.join(have)}"
    lost = abs(free - left) >= LOST_PAGES
    return f"{free} pages are free in base, {left} in series: is a block lost?" * lost


CMA = f"{FILL},boot-memory-cma"
HUGETLB = f"{FILL},boot-memory-hugetlb"
# Pages of 1 GiB that differ by node, with little else, so that the host has to have less memory.
# KASLR could put the kernel into one of the few places for such a page.
GIGANTIC = "boot-memory,boot-memory-hugetlb,peers-gigantic"
NODES = (
    "nokaslr hugepagesz=1G hugepages=0:1,1:4 zdm.1G=5 zdm.each=1+4+ "
    "hugepagesz=2M hugepages=16 zdm.2M=16"
)
use_gigantic = partial(use_memory, scripts=GIGANTIC, ram_gib=10, nodes=2)
PAGES = "hugepagesz=1G hugepages=1 hugepagesz=2M hugepages=700 zdm.1G=1 zdm.2M=700"
# On the kernel that most cells boot.
COMMAND_LINES = {
    "hotplug": use_memory(scripts=f"{HOTPLUG},boot-memory-hotplug-more", virtio_mem=True),
    "kernelcore": use_memory("kernelcore=2G zdm.movable=3072"),
    "movablecore-nodes": use_memory("movablecore=2G zdm.movable=2048", nodes=2),
    "movable_node": use_memory("movable_node", HOTPLUG),
    "cma": use_memory("cma=512M zdm.cma=512", CMA),
    "hugetlb": use_memory(PAGES, HUGETLB),
    "hugetlb-optimised": use_memory(f"{PAGES} hugetlb_free_vmemmap=on", HUGETLB),
    "hugetlb-nodes": use_gigantic(NODES),
    "hugetlb-nodes-optimised": use_gigantic(f"{NODES} hugetlb_free_vmemmap=on"),
    "hugetlb-cma": use_memory(f"{PAGES} hugetlb_cma=2G hugetlb_cma_only=1", HUGETLB),
    "nodes": use_memory(scripts=HOTPLUG, nodes=2),
}
# On a kernel that checks pages. DEBUG_VM and its kin need no word.
use_checked = partial(use_memory, config=DEBUG)
DEBUGGED = {
    "online": use_checked(
        "debug_pagealloc=off page_owner=on zdm.reads=4 zdm.fills=1 zdm.cycles=20", ONLINE
    ),
    "online-poison": use_checked(
        "page_poison=1 init_on_free=1 zdm.reads=1 zdm.fills=1 zdm.cycles=1", ONLINE
    ),
    "online-own-memmap": use_checked(
        "debug_pagealloc=off memory_hotplug.memmap_on_memory=1 zdm.own=1 page_owner=on "
        "zdm.reads=1 zdm.fills=1 zdm.cycles=1",
        ONLINE,
    ),
    "online-virtio-mem": use_checked(
        "debug_pagealloc=off zdm.reads=1 zdm.fills=0 zdm.cycles=1", ONLINE, virtio_mem=True
    ),
    "early_page_ext": use_checked("early_page_ext page_owner=on zdm.deferred=0"),
    "debug_pagealloc": use_checked("debug_pagealloc=on"),
    "no-debug_pagealloc": use_checked("debug_pagealloc=off check_pages=1"),
    "init": use_checked("debug_pagealloc=off init_on_alloc=1 init_on_free=1", HOTPLUG),
    "page_poison": use_checked("debug_pagealloc=off page_poison=1"),
    "page_owner": use_checked("debug_pagealloc=off page_owner=on page_table_check=on"),
    "mem_profiling": use_checked("debug_pagealloc=off sysctl.vm.mem_profiling=1"),
    "all": use_checked(
        "debug_pagealloc=on init_on_alloc=1 init_on_free=1 page_owner=on "
        "page_table_check=on sysctl.vm.mem_profiling=1"
    ),
}
BOOTS = {
    "short": use_memory(scripts=HOTPLUG),
    **COMMAND_LINES,
    **DEBUGGED,
    "arm64": use_memory(config=BOOTED["arm64"]),
}
# On the kernels of tests/cells/sanitizers.py. KMSAN excludes deferred initialisation, and takes two
# pages of metadata for each page.
SANITIZED = {
    "kasan-ubsan": use_memory(f"{FEW} zdm.reads=2", READ),
    # debug_pagealloc would take minutes for each GiB.
    "kcsan-debug": use_memory(f"{FEW} debug_pagealloc=off zdm.reads=2", READ),
    "kmsan": use_memory(f"{FEW} zdm.deferred=0", ram_gib=8),
}


def use_large(words: str, scripts: str, size: str, more_args: str = "", **more: Any) -> Boot:
    """Return a boot that adds a DIMM of a size to a kernel with probes."""
    args = (
        f"-m slots=1,maxmem=500G -object memory-backend-ram,id=dimm0-memory,size={size},reserve=off"
    )
    boot = Boot(
        f"boot-memory,{scripts}",
        f"zdm.deferred=1 zdm.movable=0 {QUICK} {words}",
        peers.CONFIG,
        ram_gib=5,
        args=f"{args} {more_args}".split(),
        silence=1800,
    )
    return replace(boot, **more)


# The memmap of the DIMM lies on it, and that of virtio-mem in RAM.
LARGE = use_large(
    f"memory_hotplug.memmap_on_memory=1 zdm.own=1 zdm.mib={256 * 1024} zdm.virtio={64 * 1024}",
    "boot-memory-large",
    "256G",
    VIRTIO_MEM.replace("512M", "64G"),
    added_gib=5,
)
# What a block costs, by its size in MiB. That follows from where RAM ends: from 64 GiB on, a
# block is as large as this is aligned. Of the addresses below 4 GiB, two GiB are no RAM. What is
# not touched of the guest's RAM takes none of the host's.
BLOCKS = {
    block: use_large(
        f"zdm.mib={4 * block} crashkernel=256M {words}",
        "boot-memory-blocks",
        f"{4 * block}M",
        cpus=16,
        ram_gib=ram_gib,
        added_gib=6 - ram_gib,
    )
    for block, ram_gib, words in (
        (128, 5, ""),
        (256, 65, f"mem={66 * 1024 + 256}M"),
        (2048, 64, ""),
    )
}
