# SPDX-License-Identifier: GPL-2.0
"""Sanitizer kernels: suites and rebinds bring no report, and the control brings the one it must.

The control runs the cases of the sanitizer's own suite in which memcpy_nt() copies out of bounds,
copies uninitialised memory, or races. UBSAN and the debugging checks have none, because
memcpy_nt() takes no part in what they look for.
"""

import re

import pytest

from harness.cells import kunit, sanitizers
from harness.cells.boots import Boot
from harness.kernel import configs
from harness.kernel.configs import VM_KERNELS
from harness.vm.console import name_console, read_times
from harness.vm.devices import DEVICES, count_pages
from support import Builder

pytestmark = [pytest.mark.full, pytest.mark.parametrize("name", sanitizers.CHECKERS)]

# KUnit takes one glob. This one matches both suites and no sanitizer's suite.
GLOB = "*mem*"
# Lines that follow a report.
REPORTED = re.compile(r"Call Trace:|page dumped because: kasan: bad access detected")


def test_suites(builder: Builder, name: str) -> None:
    words = f"{kunit.RUN} {configs.NODES} kunit.filter_glob={GLOB}"
    _, log = builder.boot("series", "sanitizer-suites", Boot(words=words, config=VM_KERNELS[name]))
    suites = (configs.MEMCPY_NT.name, configs.MEMMAP.name)
    assert kunit.parse_log(builder.trees.series, log, suites, f"KUnit with {name}")


def test_rebinds(builder: Builder, name: str) -> None:
    """The times mean little under a sanitizer."""
    checker = sanitizers.CHECKERS[name]
    words = f"zdm.rebinds={checker.rebinds} zdm.map={'mem' if checker.in_ram else 'dev'}"
    # Those for which the size is enough.
    devices = [device for device in DEVICES if device.count_pages(checker.gib)]
    pages = count_pages(devices, checker.gib)
    if checker.in_ram:
        # One struct page for every page of the device.
        pages = dict.fromkeys(pages, round(checker.gib * 2**18))
    boot = Boot("rebind", words, VM_KERNELS[name], devices=devices)
    text, log = builder.boot("series", "sanitizer-rebinds", boot)
    release = builder.kernel("series", VM_KERNELS[name]).release
    with name_console(f"rebinds with {name}", log):
        assert read_times(text, release, checker.rebinds, pages)


def test_control(builder: Builder, name: str) -> None:
    """The sanitizer's reports name a non-temporal copy or a test of it.

    KCSAN's case waits half a second for a race with each number of threads. Emulated CPUs can miss
    it, so the case need pass with one number only.
    """
    checker = sanitizers.CHECKERS[name]
    report = f"BUG: {checker.own.upper()}: "
    boot = Boot(
        words=f"{kunit.RUN} kunit.filter_glob={checker.own}.*_nt*",
        config=VM_KERNELS[name],
        harmless=lambda line: report in line or bool(REPORTED.search(line)),
    )
    text, log = builder.boot("series", "sanitizer-control", boot)
    if not (checker.by_chance and sanitizers.ONCE.search(text)):
        kunit.parse_log(builder.trees.series, log, [checker.own], f"control with {name}")
    assert any(report in line and "_nt" in line for line in text.split("\n"))
