# SPDX-License-Identifier: GPL-2.0
"""The console parser and the list of splats, tested on the console of a real boot."""

import re
from pathlib import Path

import pytest

from harness.vm import console
from harness.vm.devices import PAIR, count_pages

LOG = (Path(__file__).parent / "fixtures/base-4G.log").read_text()
RELEASE = "7.3.0-rc7-base"
PAGES = count_pages(PAIR, 4)
LINES = LOG.splitlines()
MEMMAP = [n for n, line in enumerate(LINES) if console.INITIALISED.match(line)]


def parse(lines: list[str]) -> dict[str, console.Times]:
    return console.read_times("\n".join(lines), RELEASE, 3, PAGES)


def edited(at: int, *instead: str) -> list[str]:
    return LINES[:at] + list(instead) + LINES[at + 1 :]


def test_real_console() -> None:
    times = parse(LINES)
    assert times["nd_pmem"] == console.Times(452, [29, 243, 237], [35.843, 249.608, 250.09])
    assert times["dax_pmem"] == console.Times(508, [307, 140, 124], [379.263, 141.676, 132.95])


def test_forms_of_a_line() -> None:
    """With a carriage return, the level, or the caller (CONFIG_PRINTK_CALLER)."""
    for form in (r"\g<0>" + "\r", r"<7>\g<0>", r"\1[    T1] \2"):
        assert parse([re.sub(r"^(\[.*?\]) (.*)$", form, line) for line in LINES]) == parse(LINES)


@pytest.mark.parametrize(
    "foreign",
    [
        "[    9.000000] zdm: memmap_init_zone_device initialised 1031680 pages in 1ms",
        "[    9.000000] memmap_init_zone_device initialised 1031680 pages in 1ms by someone else",
    ],
)
def test_foreign_lines_do_not_count(foreign: str) -> None:
    assert parse(LINES[: MEMMAP[3]] + [foreign] + LINES[MEMMAP[3] :]) == parse(LINES)


def replaced(old: str, new: str) -> list[str]:
    return [line.replace(old, new) for line in LINES]


# A memmap line of a rebind, and others of the guest and the kernel in its place.
REBOUND = LINES[MEMMAP[3]]
FAILED = "[    4.2] zdm: failed: ndctl create-namespace"
SPLAT = "[    4.2] WARNING: CPU: 0 PID: 1 at mm/mm_init.c:1"


@pytest.mark.parametrize(
    "lines, message",
    [
        (edited(MEMMAP[3], REBOUND[:60]), "5 memmap lines and the selftest's 6 rebinds disagree"),
        (edited(MEMMAP[3], REBOUND.replace("pages", "pa[    9.1] usb 1-1: new\nges")), "disagree"),
        (edited(MEMMAP[3], REBOUND.replace(" in ", " in 9")), "disagree"),
        (edited(MEMMAP[0], ""), "first bind of nd_pmem printed 0 memmap lines"),
        (edited(MEMMAP[1], *[LINES[MEMMAP[1]]] * 2), "first bind of dax_pmem printed 2 memmap"),
        (replaced("dax1.0: rebind 2", "x"), "rebind 2/3 of dax_pmem was expected, 3/3 was"),
        (replaced("dax1.0: rebind 3", "x"), "2 rebinds of dax_pmem were reported, not 3"),
        (replaced("dax1.0: rebind", "dax7.0: rebind"), "names a device that the guest does not"),
        (replaced("first bind, dax_pmem", "first bind, other"), "other was bound, but the guest"),
        (LINES[: -len(LINES) // 20], "did not reach its end"),
        (replaced("rc7-base", "rc6"), "no line says that this is kernel 7.3.0-rc7-base"),
        (replaced("1031680 pages", "9 pages"), "9 pages of nd_pmem were initialised, but it has"),
        (edited(MEMMAP[5], FAILED), "the guest failed: ndctl create-namespace"),
        (edited(MEMMAP[5], SPLAT), "the kernel complained: [    4.2] WARNING: CPU: 0"),
    ],
)
def test_bad_console(lines: list[str], message: str) -> None:
    with pytest.raises(console.BadConsole, match=message.replace("[", r"\[")):
        parse(lines)


@pytest.mark.parametrize(
    "line, is_splat",
    [
        ("WARNING: CPU: 1 PID: 77 at mm/memremap.c:421 memunmap_pages+0x1/0x2", True),
        ("rcu: INFO: rcu_sched self-detected stall on CPU", True),
        ("INFO: task ndctl:61 blocked for more than 120 seconds.", True),
        ("BUG: KASAN: slab-out-of-bounds in memmap_init_zone_device+0x1/0x2", True),
        ("UBSAN: array-index-out-of-bounds in mm/mm_init.c:1:2", True),
        ("ndctl[61]: segfault at 0 ip 0000000000401000 sp 00007ffd error 4", True),
        ("zdm: # warnings: none, debug: on", False),
        ("Spectre V2 : Mitigation: Retpolines", False),
    ],
)
def test_splat(line: str, is_splat: bool) -> None:
    assert console.is_splat(f"[   12.345678] {line}") == is_splat
