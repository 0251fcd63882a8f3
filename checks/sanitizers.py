# SPDX-License-Identifier: GPL-2.0
"""The series' kernel of the VM with a sanitizer built in, and what it must do without a report.

Each has three boots: the KUnit suites, rebinds of both drivers, and as the
positive control the cases of the sanitizer's own suite that copy out of bounds,
uninitialised or in a race by memcpy_nt(), which pass when the sanitizer reports
that. UBSAN and the debugging checks of mm and the locks share two of the kernels
and have no control of this kind: memcpy_nt() takes no part in what they look for.
"""

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from checks import kunit
from harness import console, guest, samples
from harness.kernels import Flavour, Kernel
from harness.options import Options
from harness.process import Fault, run, say, step
from harness.toolchain import Toolchain

COMMON = ("vm", "kunit-lib", "kunit-mm", "kunit")
SUITES = ("memcpy_nt", "zone_device_memmap")
# KUnit takes one glob: both suites have this in their names, and no sanitizer's has.
GLOB = "*mem*"
LIMIT = 3600
SILENCE = 600
RACE = re.compile(r"BUG: KCSAN: \S+ in (\S+)(?: / (\S+))?")
# What comes with a report.
REPORTED = re.compile(r"Call Trace:|page dumped because: kasan: bad access detected")
TESTS = re.compile(r"memcpy_nt|zone_device|publish")
# KTAP of a case for one number of threads, which passed: 8 spaces in, behind printk's one.
ONCE = re.compile(r"\] {9}ok \d+ threads=\d+\s*$", re.M)


@dataclass(frozen=True)
class Checker:
    """A kernel that checks itself: own is the sanitizer's KUnit suite, which may miss a report by_chance, gib is the size of each
    device, which is bound and then rebound rebinds times, in_ram says where its memmap lies, ram_gib is the size of the RAM, words are
    for the command line."""

    flavour: Flavour
    own: str
    by_chance: bool = False
    gib: float = 100
    rebinds: int = 3
    in_ram: bool = False
    ram_gib: int = 4
    words: str = ""

    @property
    def pages(self) -> int:
        """How many page structs the kernel fills for a device: where none of it is taken for the memmap, for all of it."""
        return round(self.gib * 2**18) if self.in_ram else samples.pages(self.gib)

    def boot(self, kernel: Kernel, image: Path, gib: float, words: str, log: Path, expected: Callable[[str], bool] = lambda _: False) -> str:
        """Boot kernel by TCG with devices of gib GiB and return the console's text without the races elsewhere, as guest.boot() does.

        expected says that a line is no fault although it looks like one.
        """
        guest.need_memory(gib, self.ram_gib)
        machine = guest.Guest(kernel, image, "tcg", gib, f"{self.words} {words}", self.ram_gib)

        def fault(line: str) -> bool:
            return console.splat(line) and not expected(line) and not elsewhere(kernel, line)

        def tell(spoken: str) -> None:
            if spoken.startswith(console.STAGE):
                step(f"{kernel.name}: {spoken.removeprefix(console.STAGE)}")

        text = guest.boot(machine, log, tell, LIMIT, SILENCE, fault).split("\n")
        kept = [line for line in text if not elsewhere(kernel, line)]
        if len(kept) < len(text):
            say(f"{kernel.name}: {len(text) - len(kept)} races in code that the series leaves alone ({log})")
        return "\n".join(kept)


CHECKERS = {
    checker.flavour.name: checker
    for checker in (
        Checker(Flavour("kasan-ubsan", (*COMMON, "kasan", "ubsan")), "kasan"),
        # Emulated, a rebind takes it two minutes or more.
        Checker(Flavour("kcsan-debug", (*COMMON, "kcsan", "debug")), "kcsan", by_chance=True, rebinds=1, words="page_poison=1"),
        # Of each page that nd_pmem maps before there is a memmap KMSAN makes four, and when it is unmapped walks all those behind it
        # and frees those of the first alone (kmsan_ioremap_page_range(), kmsan_iounmap_page_range()). On the device there is no
        # room for its struct page of 80 bytes (nd_pfn_init()).
        Checker(Flavour("kmsan", (*COMMON, "kmsan"), Toolchain(llvm="-19")), "kmsan", gib=1 / 32, in_ram=True, ram_gib=8),
    )
}


@functools.cache
def functions(kernel: Kernel) -> frozenset[str]:
    """Return the names of the functions in the kernel's mm/mm_init.o."""
    told = run(["nm", "--defined-only", kernel.image.parent / "mm_init.o"], "nm mm_init.o")
    return frozenset(match[1] for match in re.finditer(r" [Tt] (\S+)$", told, re.M))


def elsewhere(kernel: Kernel, line: str) -> bool:
    """Return whether KCSAN reports a race on this line in which neither side is mm/mm_init.c or a test.

    With the strict rules it finds races in many places of the kernel that the
    series has nothing to do with.
    """
    match = RACE.search(line)
    names = [name.split("+")[0] for name in match.groups() if name] if match else []
    return bool(match) and not any(name in functions(kernel) or TESTS.search(name) for name in names)


def logs(options: Options, name: str) -> Path:
    """Return the path for a console's log."""
    folder = options.build / "sanitizers"
    folder.mkdir(exist_ok=True)
    return folder / f"{name}.log"


def suites(options: Options, checker: Checker, kernel: Kernel, image: Path, source: Path) -> int:
    """Return how many KUnit cases passed; Raises Fault for one that did not, and for any report."""
    log = logs(options, f"{checker.flavour.name}-suites")
    checker.boot(kernel, image, 0, f"{kunit.RUN} {kunit.NODES} kunit.filter_glob={GLOB}", log)
    return kunit.parse(source, log, SUITES, f"KUnit in the {kernel.name} kernel")


def rebinds(options: Options, checker: Checker, kernel: Kernel, image: Path) -> dict[str, console.Times]:
    """Return the times of a few rebinds, for what they are worth; Raises Fault for any report and a console that does not add up."""
    log = logs(options, f"{checker.flavour.name}-rebinds")
    words = f"zdm.do=rebind zdm.rebinds={checker.rebinds} zdm.map={'mem' if checker.in_ram else 'dev'}"
    text = checker.boot(kernel, image, checker.gib, words, log)
    try:
        return console.times(text, kernel.release, checker.rebinds, checker.pages)
    except console.BadConsole as bad:
        raise Fault(f"rebinds in the {kernel.name} kernel: {bad} (whole console: {log})") from None


def passed_once(text: str) -> bool:
    """Whether a console tells of a case that passed with one number of threads at least."""
    return bool(ONCE.search(text))


def control(options: Options, checker: Checker, kernel: Kernel, image: Path, source: Path) -> int:
    """Return how many reports of its own kind name a function of the tests of memcpy_nt().

    Raises Fault for a case of the sanitizer's suite that did not pass, and for
    any other report. KCSAN's case has half a second for each number of threads
    to meet, which emulated CPUs can miss; to pass with one number is then enough.
    """
    log, report = logs(options, f"{checker.flavour.name}-control"), f"BUG: {checker.own.upper()}: "
    text = checker.boot(
        kernel,
        image,
        0,
        f"{kunit.RUN} kunit.filter_glob={checker.own}.*memcpy_nt*",
        log,
        lambda line: report in line or bool(REPORTED.search(line)),
    )
    found = sum(report in line and "memcpy_nt" in line for line in text.split("\n"))
    if not (checker.by_chance and passed_once(text)):
        kunit.parse(source, log, [checker.own], f"control of {kernel.name}")
    return found
