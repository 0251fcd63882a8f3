# SPDX-License-Identifier: GPL-2.0
"""Boot the VM's kernel of the series with a sanitizer, which must not report anything.

Each kernel boots three times: for the KUnit suites, for rebinds of both drivers, and for a positive
control. The control runs the cases of the sanitizer's own suite in which memcpy_nt() copies out of
bounds, copies uninitialised memory, or races. They pass when the sanitizer reports that.

UBSAN and the debugging checks of mm and the locks share two of the kernels. They have no such
control, because memcpy_nt() takes no part in what they look for.
"""

import functools
import re
from collections.abc import Container
from dataclasses import dataclass, replace
from pathlib import Path

from cells import kunit
from cells.boots import Boot, boot_once
from cells.compile import list_touched
from harness.bench.measure import name_console
from harness.core.architectures import LLVM
from harness.core.command import run
from harness.core.options import Options
from harness.core.progress import say
from harness.kernel.config import MEASURED, WITH_KMSAN, KernelConfig, turn_on
from harness.kernel.images import Kernel
from harness.kernel.toolchain import Toolchain
from harness.kernel.tree import Trees
from harness.vm import console
from harness.vm.devices import DEVICES, count_pages

# The measured kernel with both suites, with what a sanitizer's own suite needs, and with what
# guest/parallel needs.
FRAGMENTS = (*MEASURED.fragments, "kunit", "tracers")
TESTED = (*kunit.MEMCPY_NT.lines, *kunit.MEMMAP.lines)
SYMBOLS = (*TESTED, *turn_on("STACKTRACE CPUSETS"))
# KUnit takes one glob. This one matches both suites and no sanitizer's suite.
GLOB = "*mem*"
RACE = re.compile(r"BUG: KCSAN: \S+ in (\S+)(?: / (\S+))?")
# Lines that follow a report.
REPORTED = re.compile(r"Call Trace:|page dumped because: kasan: bad access detected")
TESTS = re.compile(r"memcpy_nt|zone_device|handover")
# KTAP of a case that passed with one number of threads: indented by 8 spaces after printk's one.
ONCE = re.compile(r"\] {9}ok \d+ threads=\d+\s*$", re.M)


@dataclass(frozen=True)
class Checker:
    """A kernel that checks itself, and how it is booted.

    own is the sanitizer's KUnit suite. by_chance says that its case can fail by chance. Each device
    has gib GiB, is bound once, and is then rebound rebinds times. in_ram says that the memmap is in
    RAM instead of on the device. There are at least ram_gib GiB of RAM. words are for the kernel's
    command line.
    """

    config: KernelConfig
    own: str
    by_chance: bool = False
    gib: float = 100
    rebinds: int = 3
    in_ram: bool = False
    ram_gib: int = 4
    words: str = ""


CHECKERS = {
    checker.config.name: checker
    for checker in (
        # With 5 levels of page tables, base's identify_cpu() clears LA57 for a moment. KASAN then
        # takes the direct map for wild memory if an interrupt comes (KASAN_SHADOW_START):
        # https://lkml.iu.edu/hypermail/linux/kernel/2606.1/11911.html
        Checker(
            KernelConfig("kasan-ubsan", (*FRAGMENTS, "kasan", "ubsan"), SYMBOLS),
            "kasan",
            words="no5lvl",
        ),
        # Under TCG a rebind of 100 GiB takes this kernel eight minutes.
        Checker(
            KernelConfig("kcsan-debug", (*FRAGMENTS, "kcsan", "debug"), SYMBOLS),
            "kcsan",
            by_chance=True,
            gib=16,
            rebinds=1,
            words="page_poison=1",
        ),
        # nd_pmem maps its pages before they have a memmap, and KMSAN then allocates metadata for
        # each (kmsan_ioremap_page_range()). On unmap it walks every following page but frees the
        # metadata of the first only (kmsan_iounmap_page_range()): 128 MiB takes over three
        # minutes, 1 GiB exhausts RAM. Both functions came with commit b073d7f8aee4 ("mm: kmsan:
        # maintain KMSAN metadata for page operations"). A device has no room for a memmap of 80
        # bytes per page (nd_pfn_init()).
        Checker(
            KernelConfig(
                "kmsan", (*FRAGMENTS, "kmsan"), (*SYMBOLS, *WITH_KMSAN), Toolchain(llvm=LLVM)
            ),
            "kmsan",
            gib=1 / 32,
            in_ram=True,
            ram_gib=8,
        ),
    )
}


@functools.cache
def list_functions(kernel: Kernel, trees: Trees) -> frozenset[str]:
    """Return the names of the functions in all objects of a kernel that the series touches."""
    # build/kernels/NAME-KEY/image was linked from the objects under build/objects/NAME.
    objects = kernel.image.parents[2] / "objects" / kernel.name
    files = [(objects / name).with_suffix(".o") for name in list_touched(trees)]
    told = run(["nm", "--defined-only", *filter(Path.exists, files)], f"nm in {objects}")
    return frozenset(match[1] for match in re.finditer(r" [TtWw] (\S+)$", told, re.M))


def is_foreign_race(functions: Container[str], line: str) -> bool:
    """Return whether this line reports a race of which no side is in functions or a test.

    With its strict rules KCSAN finds races in many places of the kernel that the series does not
    touch.
    """
    match = RACE.search(line)
    names = [name.split("+")[0] for name in match.groups() if name] if match else []
    return bool(match) and not any(name in functions or TESTS.search(name) for name in names)


def boot_checked(
    options: Options, checker: Checker, kernel: Kernel, trees: Trees, what: str, boot: Boot
) -> tuple[str, Path]:
    """Boot kernel under TCG; return the console's text, without races elsewhere, and its log."""
    own = list_functions(kernel, trees)
    checked = replace(
        boot,
        words=f"{checker.words} {boot.words}",
        gib=checker.gib,
        ram_gib=max(boot.ram_gib, checker.ram_gib),
        silence=600,
        harmless=lambda line: boot.harmless(line) or is_foreign_race(own, line),
    )
    emulated = replace(options, accel="tcg")
    told, log = boot_once(emulated, trees.series, kernel, f"sanitizer-{what}", checked)
    text = told.split("\n")
    kept = [line for line in text if not is_foreign_race(own, line)]
    if races := len(text) - len(kept):
        say(f"{kernel.name}: {races} races in code that the series does not touch ({log})")
    return "\n".join(kept), log


def run_suites(options: Options, checker: Checker, kernel: Kernel, trees: Trees) -> int:
    boot = Boot(words=f"{kunit.RUN} {kunit.NODES} kunit.filter_glob={GLOB}")
    _, log = boot_checked(options, checker, kernel, trees, "suites", boot)
    suites = (kunit.MEMCPY_NT.name, kunit.MEMMAP.name)
    return kunit.parse_log(trees.series, log, suites, f"KUnit in the {kernel.name} kernel")


def rebind_devices(
    options: Options, checker: Checker, kernel: Kernel, trees: Trees
) -> dict[str, console.Times]:
    """Rebind each device a few times and return the times, which mean little under a sanitizer."""
    words = f"zdm.rebinds={checker.rebinds} zdm.map={'mem' if checker.in_ram else 'dev'}"
    # Those for which the size is enough.
    devices = [device for device in DEVICES if device.count_pages(checker.gib)]
    pages = count_pages(devices, checker.gib)
    if checker.in_ram:
        # One struct page for every page of the device.
        pages = dict.fromkeys(pages, round(checker.gib * 2**18))
    boot = Boot("rebind", words, devices=devices)
    text, log = boot_checked(options, checker, kernel, trees, "rebinds", boot)
    with name_console(f"rebinds in the {kernel.name} kernel", log):
        return console.read_times(text, kernel.release, checker.rebinds, pages)


def run_control(options: Options, checker: Checker, kernel: Kernel, trees: Trees) -> int:
    """Return the number of the sanitizer's reports that name a non-temporal copy or a test of it.

    KCSAN's case waits half a second for a race with each number of threads. Emulated CPUs can miss
    it, so the case need pass with one number only.
    """
    report = f"BUG: {checker.own.upper()}: "
    boot = Boot(
        words=f"{kunit.RUN} kunit.filter_glob={checker.own}.*_nt*",
        harmless=lambda line: report in line or bool(REPORTED.search(line)),
    )
    text, log = boot_checked(options, checker, kernel, trees, "control", boot)
    found = sum(report in line and "_nt" in line for line in text.split("\n"))
    if not (checker.by_chance and ONCE.search(text)):
        kunit.parse_log(trees.series, log, [checker.own], f"control of {kernel.name}")
    return found
