# SPDX-License-Identifier: GPL-2.0
"""The zones that two boots tell of (guest/boot-memory), compared."""

import re

# Two boots of one kernel differ by less. Deferred initialisation frees 1024 pages at once, so a
# fault in it would lose more.
LOST_PAGES = 512
ZONE = re.compile(r"zone: (\d+, \w+), (\d+) present, (\d+) managed, (\d+) free")
# Of the kernel's image, the room that a part leaves in its last 2 MiB, and what only boot needs.
FREED = re.compile(r"Freeing unused kernel image \((?:\w+/\w+ gap|initmem)\) memory: (\d+)K")
END = re.compile(r"image: ends at ([0-9a-f]+)")
AVAILABLE = re.compile(r"Memory: (\d+)K/\d+K available")
ONE_CPU = re.compile(r"Brought up \d+ nodes?, 1 CPU$", re.M)


def read_zones(console: str) -> tuple[list[str], int]:
    """Return what must be the same in each boot of a guest, and how many pages are free.

    That is what each zone has, and manages beside the kernel's image: a page more of code or data
    leaves a page less. With one CPU, it is also what is free after deferred initialisation.
    """
    end = sum((int(last, 16) + 1) // 1024 for last in END.findall(console))
    image = (end - sum(map(int, FREED.findall(console)))) // 4
    zones, free = [], 0
    for name, present, managed, left in ZONE.findall(console):
        # With nokaslr, the kernel lies at 16 MiB.
        fixed = int(managed) + image * (name == "0, DMA32")
        zones.append(f"zone {name}: {present} pages present, {fixed} managed")
        free += int(left)
    if ONE_CPU.search(console):
        # None of the image has been freed yet.
        zones += [f"{int(kib) + end} KiB free after boot" for kib in AVAILABLE.findall(console)]
    return zones, free


def compare_zones(base: str, series: str) -> str:
    """Return in what the memory of two boots of a guest differs, empty if it does not."""
    (want, free), (have, left) = read_zones(base), read_zones(series)
    if not want or want != have:
        return f"base has {'; '.join(want)}\nseries has {'; '.join(have)}"
    lost = abs(free - left) >= LOST_PAGES
    return f"{free} pages are free in base, {left} in series: is a block lost?" * lost
