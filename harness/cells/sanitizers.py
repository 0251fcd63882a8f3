# SPDX-License-Identifier: GPL-2.0
"""How kernels of the series with a sanitizer boot, and which of KCSAN's races count."""

import functools
import re
from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from pathlib import Path

from harness.cells.boots import Boot
from harness.cells.compile import list_touched
from harness.core import run
from harness.kernel.images import Kernel
from harness.kernel.tree import Trees

RACE = re.compile(r"BUG: KCSAN: \S+ in (\S+)(?: / (\S+))?")
TESTS = re.compile(r"memcpy_nt|zone_device|handover")
# KTAP of a case that passed with one number of threads: indented by 8 spaces after printk's one.
ONCE = re.compile(r"\] {9}ok \d+ threads=\d+\s*$", re.M)


@dataclass(frozen=True)
class Checker:
    """How a kernel that checks itself is booted.

    own is the sanitizer's KUnit suite. by_chance says that its case can fail by chance. Each device
    has gib GiB, is bound once, and is then rebound rebinds times. in_ram says that the memmap is in
    RAM instead of on the device. There are at least ram_gib GiB of RAM. words are for the kernel's
    command line.
    """

    own: str
    by_chance: bool = False
    gib: float = 100
    rebinds: int = 3
    in_ram: bool = False
    ram_gib: int = 4
    words: str = ""

    def adapt(self, boot: Boot, is_foreign: Callable[[str], bool]) -> Boot:
        """Return the boot of such a kernel, of which is_foreign says which reports do not count."""
        return replace(
            boot,
            words=f"{self.words} {boot.words}",
            gib=boot.gib or self.gib,
            ram_gib=max(boot.ram_gib, self.ram_gib),
            silence=max(boot.silence, 600),
            harmless=lambda line: boot.harmless(line) or is_foreign(line),
        )


# By the kernel's name.
CHECKERS = {
    # With 5 levels of page tables, base's identify_cpu() clears LA57 for a moment. KASAN then takes
    # the direct map for wild memory if an interrupt comes (KASAN_SHADOW_START):
    # https://lkml.iu.edu/hypermail/linux/kernel/2606.1/11911.html
    "kasan-ubsan": Checker("kasan", words="no5lvl"),
    # Under TCG a rebind of 100 GiB takes this kernel eight minutes.
    "kcsan-debug": Checker("kcsan", by_chance=True, gib=16, rebinds=1, words="page_poison=1"),
    # nd_pmem maps its pages before they have a memmap, and KMSAN then allocates metadata for each
    # (kmsan_ioremap_page_range()). On unmap it walks every following page but frees the metadata of
    # the first only (kmsan_iounmap_page_range()): 128 MiB takes over three minutes, 1 GiB exhausts
    # RAM. Both functions came with commit b073d7f8aee4 ("mm: kmsan: maintain KMSAN metadata for
    # page operations"). A device has no room for a memmap of 80 bytes per page (nd_pfn_init()).
    "kmsan": Checker("kmsan", gib=1 / 32, in_ram=True, ram_gib=8),
}


@functools.cache
def list_functions(kernel: Kernel, trees: Trees) -> frozenset[str]:
    """Return the names of the functions in all objects of a kernel that the series touches.

    Raises UserError when the build folder has no such object.
    """
    objects = kernel.find_objects()
    files = [(objects / name).with_suffix(".o") for name in list_touched(trees)]
    symbols = run(["nm", "--defined-only", *filter(Path.exists, files)], f"nm in {objects}")
    return frozenset(match[1] for match in re.finditer(r" [TtWw] (\S+)$", symbols, re.M))


def is_foreign_race(functions: Container[str], line: str) -> bool:
    """Return whether this line reports a race of which no side is in functions or a test.

    With its strict rules KCSAN finds races in many places of the kernel that the series does not
    touch.
    """
    match = RACE.search(line)
    names = [name.split("+")[0] for name in match.groups() if name] if match else []
    return bool(match) and not any(name in functions or TESTS.search(name) for name in names)
