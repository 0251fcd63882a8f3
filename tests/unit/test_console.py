# SPDX-License-Identifier: GPL-2.0
"""The console parser and the list of splats, tested on the console of a real boot."""

from pathlib import Path

import pytest

from harness.vm import console
from harness.vm.devices import DEVICES, PAIR, count_pages

LOG = (Path(__file__).parent / "fixtures/base-4G.log").read_text()
RELEASE = "7.3.0-rc7-base"
PAGES = count_pages(PAIR, 4)
LINES = LOG.splitlines()
MEMMAP = [n for n, line in enumerate(LINES) if console.INITIALISED.match(line)]


def parse(
    lines: list[str], release: str = RELEASE, pages: dict[str, int] = PAGES
) -> dict[str, console.Times]:
    return console.read_times("\n".join(lines), release, 3, pages)


def edited(at: int, *instead: str) -> list[str]:
    return LINES[:at] + list(instead) + LINES[at + 1 :]


def test_real_console() -> None:
    found = parse(LINES)
    assert found["nd_pmem"] == console.Times(452, [29, 243, 237], [35.843, 249.608, 250.09])
    assert found["dax_pmem"] == console.Times(508, [307, 140, 124], [379.263, 141.676, 132.95])


def test_carriage_returns_are_no_trouble() -> None:
    assert parse([line + "\r" for line in LINES]) == parse(LINES)


def test_timestamp_variants() -> None:
    text = "memmap_init_zone_device initialised 25804288 pages in 97ms"
    for before in (
        "[    5.808047] ",
        "<7>[12345.808047] ",
        "[    5.808047][    T1] ",
        "[    5.808047] [  C0] ",
    ):
        assert bool(console.INITIALISED.match(before + text)) is (
            before != "[    5.808047] [  C0] "
        )


@pytest.mark.parametrize(
    "foreign",
    [
        "[    9.000000] zdm: memmap_init_zone_device initialised 1031680 pages in 1ms",
        "[    9.000000] memmap_init_range initialised 1031680 pages in 1ms",
        "[    9.000000] memmap_init_zone_device initialised 1031680 pages in 1ms by someone else",
        "memmap_init_zone_device initialised 1031680 pages in 1ms",
    ],
)
def test_foreign_lines_do_not_count(foreign: str) -> None:
    assert parse(LINES[: MEMMAP[3]] + [foreign] + LINES[MEMMAP[3] :]) == parse(LINES)


@pytest.mark.parametrize(
    "name, lines, message",
    [
        (
            "torn memmap line",
            edited(MEMMAP[3], LINES[MEMMAP[3]][:60]),
            "5 memmap lines and the selftest's 6 rebinds disagree",
        ),
        (
            "interleaved memmap line",
            edited(
                MEMMAP[3], LINES[MEMMAP[3]].replace("pages", "pa[    9.1] usb 1-1: new device\nges")
            ),
            "disagree",
        ),
        (
            "memmap line twice",
            edited(MEMMAP[4], LINES[MEMMAP[4]], LINES[MEMMAP[4]]),
            "7 memmap lines",
        ),
        ("other time", edited(MEMMAP[2], LINES[MEMMAP[2]].replace(" in ", " in 9")), "disagree"),
        ("no first bind", edited(MEMMAP[0], ""), "first bind of nd_pmem printed 0 memmap lines"),
        (
            "first bind twice",
            edited(MEMMAP[1], LINES[MEMMAP[1]], LINES[MEMMAP[1]]),
            "first bind of dax_pmem printed 2 memmap lines",
        ),
        (
            "rebind not reported",
            [line for line in LINES if "dax1.0: rebind 2/3" not in line],
            "rebind 2/3 of dax_pmem was expected, 3/3 was reported",
        ),
        (
            "last rebind not reported",
            [line for line in LINES if "dax1.0: rebind 3/3" not in line],
            "2 rebinds of dax_pmem were reported, not 3",
        ),
        (
            "unknown device",
            [line.replace("dax1.0: rebind", "dax7.0: rebind") for line in LINES],
            "a rebind names a device that the guest does not have",
        ),
        (
            "unknown name",
            [line.replace("first bind, dax_pmem", "first bind, other") for line in LINES],
            "other was bound, but the guest has no such device",
        ),
        ("cut off", LINES[: -len(LINES) // 20], "did not reach its end"),
        ("empty", [], "no line says that this is kernel"),
        (
            "guest failed",
            edited(MEMMAP[5], "[    4.2] zdm: failed: ndctl create-namespace"),
            "the guest failed: ndctl create-namespace",
        ),
        (
            "splat",
            edited(MEMMAP[5], "[    4.2] WARNING: CPU: 0 PID: 1 at mm/mm_init.c:1"),
            "the kernel complained: [    4.2] WARNING: CPU: 0",
        ),
    ],
)
def test_bad_console(name: str, lines: list[str], message: str) -> None:
    with pytest.raises(console.BadConsole, match=message.replace("[", r"\[")):
        parse(lines)


def test_other_release() -> None:
    with pytest.raises(
        console.BadConsole, match="no line says that this is kernel 7.3.0-rc7-series"
    ):
        parse(LINES, "7.3.0-rc7-series")


def test_other_page_count() -> None:
    with pytest.raises(
        console.BadConsole, match="1031680 pages of nd_pmem were initialised, but it has 25804288"
    ):
        parse(LINES, pages=count_pages(PAIR, 100))


def test_page_count_of_a_namespace() -> None:
    assert count_pages(PAIR, 100) == {"nd_pmem": 25804288, "dax_pmem": 25804288}
    assert PAGES == {"nd_pmem": 1031680, "dax_pmem": 1031680}


def test_page_count_of_a_namespace_aligned_to_1_gib() -> None:
    """100 GiB hold 98 GiB of data behind 1.6 GiB of memmap; less than 2 GiB hold none."""
    gib = 2**18
    assert [DEVICES[2].count_pages(size) for size in (100, 4, 2, 1, 1 / 32)] == [
        98 * gib,
        3 * gib,
        gib,
        0,
        0,
    ]


@pytest.mark.parametrize(
    "line",
    [
        "WARNING: CPU: 1 PID: 77 at mm/memremap.c:421 memunmap_pages+0x1/0x2",
        "WARNING: mm/mm_init.c:1050 at memmap_init_zone_device+0x4/0x10, CPU#1: init/1",
        "BUG: unable to handle page fault for address: ffffea0000000000",
        "BUG: Bad page state in process init  pfn:80000",
        "kernel BUG at mm/page_alloc.c:1!",
        "Oops: 0002 [#1] SMP NOPTI",
        "Kernel panic - not syncing: No working init found.",
        "Call Trace:",
        "------------[ cut here ]------------",
        "---[ end trace 0000000000000000 ]---",
        "general protection fault, probably for non-canonical address 0x1: 0000 [#1]",
        "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
        "rcu: INFO: rcu_sched self-detected stall on CPU",
        "watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [sh:77]",
        "watchdog: Watchdog detected hard LOCKUP on cpu 0",
        "INFO: task ndctl:61 blocked for more than 120 seconds.",
        "WARNING: possible circular locking dependency detected",
        "WARNING: possible recursive locking detected",
        "WARNING: suspicious RCU usage",
        "BUG: sleeping function called from invalid context at mm/a.c:1",
        "BUG: scheduling while atomic: sh/77/0x00000002",
        "BUG: KASAN: slab-out-of-bounds in memmap_init_zone_device+0x1/0x2",
        "BUG: KCSAN: data-race in a / b",
        "BUG: KMSAN: uninit-value in a",
        "UBSAN: array-index-out-of-bounds in mm/mm_init.c:1:2",
        "refcount_t: underflow; use-after-free.",
        "list_add corruption. next->prev should be prev",
        "Out of memory: Killed process 77 (ndctl)",
        "ndctl invoked oom-killer: gfp_mask=0x0",
        "ndctl[61]: segfault at 0 ip 0000000000401000 sp 00007ffd error 4",
        "page dumped because: VM_BUG_ON_PAGE(1)",
    ],
)
def test_splat(line: str) -> None:
    assert console.is_splat(f"[   12.345678] {line}")


@pytest.mark.parametrize(
    "line",
    [
        "zdm: # warnings: none, debug: on",
        "debug: unmapping init memory",
        "Spectre V2 : Mitigation: Retpolines",
        "random: crng init done",
        "printk: console [ttyS0] enabled",
    ],
)
def test_no_splat(line: str) -> None:
    assert not console.is_splat(f"[   12.345678] {line}")
