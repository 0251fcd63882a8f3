# SPDX-License-Identifier: GPL-2.0
"""What a console tells of boot memory: how long it took, and the pages of each zone."""

import re
from dataclasses import dataclass

from harness.vm.console import PRINTK, BadConsole, read_message, split_console

PAGE_KIB = 4
# Deferred initialisation starts with the second section of a zone.
SECTION_PAGES = 1 << 15
DEFERRED = re.compile(PRINTK + r"node (?P<node>\d+) deferred pages initialised in (?P<ms>\d+)ms$")
MEMORY = re.compile(PRINTK + r"Memory: (?P<kib>\d+)K/\d+K available \(")
# The room that a part of the kernel's image leaves in its last 2 MiB.
GAP = re.compile(PRINTK + r"Freeing unused kernel image \(\w+/\w+ gap\) memory: (?P<kib>\d+)K$")
UP = re.compile(PRINTK + r"zdm: stage: kernel \S+ is up$")
ZONE = re.compile(r"^Node (?P<node>\d+), zone +(?P<name>\S+)$")
COUNT = re.compile(r"^ *(?:pages )?(?P<what>free|present|managed|count:) +(?P<pages>\d+)$")


@dataclass
class Zone:
    """A populated zone.

    managed leaves out the gaps of the kernel's image, as a kernel with a page more of code has a
    page less there. free pages are the buddy allocator's or on a list of a CPU.
    """

    node: int
    name: str
    present: int
    managed: int
    free: int

    def __str__(self) -> str:
        """Return what has to be the same in base and series."""
        return (
            f"node {self.node}, {self.name}: {self.present} pages present, {self.managed} managed"
        )


@dataclass
class Boot:
    """What one boot tells.

    deferred has the milliseconds that each node reports for deferred initialisation. deferred_ms is
    the time from its start to its end on the last node; nodes can take turns. available is how many
    pages were free then. up_ms is when guest/init started, in milliseconds.
    """

    deferred: dict[int, int]
    deferred_ms: float
    available: int
    up_ms: float
    zones: list[Zone]

    @property
    def free(self) -> int:
        """The pages that guest/zones found free."""
        return sum(zone.free for zone in self.zones)

    @property
    def managed(self) -> int:
        """The pages of all zones that the buddy allocator manages."""
        return sum(zone.managed for zone in self.zones)

    def count_deferred(self) -> int:
        """Return how many pages are deferred: each node's highest zone less its first section."""
        highest = {zone.node: zone.managed for zone in self.zones}
        return sum(highest.values()) - SECTION_PAGES * len(highest)


def read_zones(messages: list[str]) -> list[Zone]:
    """Return the populated zones that guest/zones tells of."""
    zones: list[Zone] = []
    for text in messages:
        if match := ZONE.match(text):
            zones.append(Zone(int(match["node"]), match["name"], 0, 0, 0))
        elif (match := COUNT.match(text)) and zones:
            what = match["what"].replace("count:", "free")
            setattr(zones[-1], what, getattr(zones[-1], what) + int(match["pages"]))
    return [zone for zone in zones if zone.present]


def find_one(lines: list[str], pattern: re.Pattern[str], what: str) -> re.Match[str]:
    """Return the match of the only line that pattern matches; Raises BadConsole otherwise."""
    found = [match for line in lines if (match := pattern.match(line))]
    if len(found) != 1:
        raise BadConsole(f"{len(found)} lines tell {what}, not one")
    return found[0]


def read_boot(console: str, release: str, nodes: int) -> Boot:
    """Return what a console tells of a boot; Raises BadConsole if a part is missing or twice."""
    lines = split_console(console, release)
    deferred = [match for line in lines if (match := DEFERRED.match(line))]
    if sorted(int(match["node"]) for match in deferred) != list(range(nodes)):
        raise BadConsole(
            f"{len(deferred)} lines tell of deferred initialisation, not one for each of "
            f"{nodes} nodes"
        )
    zones = read_zones([read_message(line) for line in lines])
    if {zone.node for zone in zones if zone.managed} != set(range(nodes)):
        raise BadConsole(f"the guest does not tell of the zones of {nodes} nodes")
    gaps = sum(int(match["kib"]) for line in lines if (match := GAP.match(line))) // PAGE_KIB
    for zone in zones:
        # With nokaslr, the kernel lies at 16 MiB.
        if (zone.node, zone.name) == (0, "DMA32"):
            zone.managed -= gaps
    ends = [1000 * float(match["at"]) for match in deferred]
    starts = [end - int(match["ms"]) for end, match in zip(ends, deferred, strict=True)]
    return Boot(
        {int(match["node"]): int(match["ms"]) for match in deferred},
        round(max(ends) - min(starts), 3),
        int(find_one(lines, MEMORY, "the free memory")["kib"]) // PAGE_KIB,
        round(1000 * float(find_one(lines, UP, "when init started")["at"]), 3),
        zones,
    )
