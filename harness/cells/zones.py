# SPDX-License-Identifier: GPL-2.0
"""The zones that two boots tell of (guest/boot-memory), compared."""

import re

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
