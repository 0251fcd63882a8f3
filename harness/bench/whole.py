# SPDX-License-Identifier: GPL-2.0
"""What `make bench` measures besides where boots are native: other binds."""

import functools
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core import Options, UserError, announce, run, say
from harness.core.cpu import read_cpu_times
from harness.kernel.images import Kernel
from harness.vm.console import PRINTK, REBIND, name_console, read_message, split_console
from harness.vm.devices import DEVICES, Device
from harness.vm.guest import Guest, announce_stage, boot_guest

LIMIT = 900
AT = re.compile(PRINTK)
MONITOR = re.compile(
    r"^monitor: (?P<wall>\S+) s, on a CPU (?P<cpu>\S+) s, waiting for one (?P<waited>\S+) s; "
)
PART = re.compile(r"^part: (?P<of>\w+) (?P<function>\S+) (?P<calls>\d+) (?P<ms>\S+)$")
FSDAX, DEVDAX = (DEVICES[0],), (DEVICES[1],)
# So many functions are shown, those that take the longest, and these besides.
LARGEST, COUNTED = 8, ("flush_tlb_all", "handle_mm_fault")


@dataclass(frozen=True)
class Case:
    """A boot: the words of its command line, its devices, and what of it is shown."""

    name: str
    words: str
    shown: Sequence[str]
    devices: Sequence[Device]


def list_cases(rebinds: int) -> list[Case]:
    """Return what is booted. A deduplicated memmap would time the hypervisor, so it is counted."""
    bind, cases = ("memmap", "whole bind"), []
    for name, word in (
        ("fsdax, map=mem, init_on_alloc=0", "zdm.map=mem init_on_alloc=0"),
        ("fsdax, map=dev, init_on_alloc=1", "init_on_alloc=1"),
        ("fsdax, map=mem, init_on_alloc=1", "zdm.map=mem init_on_alloc=1"),
    ):
        rebind = f"zdm.do=rebind,whole zdm.rebinds={rebinds} {word}"
        cases.append(Case(name, rebind, (*bind, "enable-namespace"), FSDAX))
    for name, word, device in (
        ("fsdax, map=dev", "dev", FSDAX),
        ("devdax, map=mem", "mem", DEVDAX),
    ):
        words = f"zdm.do=rebind,parts,whole zdm.rebinds=1 zdm.map={word}"
        cases.append(Case(name, words, (), device))
    return cases


def read_values(text: str, release: str) -> dict[str, list[float]]:
    """Return what a whole console tells, by name: times in ms, and ticks per second.

    Raises BadConsole as split_console() does.
    """
    found: dict[str, list[float]] = {}

    def add(name: str, value: float) -> None:
        found.setdefault(name, []).append(round(value, 3))

    begun, since, ticks = "", 0.0, []
    for line in split_console(text, release):
        at, spoken = AT.match(line), read_message(line)
        now = 1000 * float(at["at"]) if at else 0.0
        if spoken.startswith("begin: "):
            begun, since = spoken.removeprefix("begin: "), now
        elif spoken == "end":
            add(begun, now - since)
        elif spoken.startswith("fill: "):
            add("fill", float(spoken.split()[1]) / 1000)
        elif spoken.startswith("ticks: "):
            ticks.append((now, float(spoken.split()[1])))
        elif part := PART.match(spoken):
            add(f"{part['of']} {part['function']}", float(part["ms"]))
            add(f"{part['of']} {part['function']}()", int(part["calls"]))
        elif rebind := REBIND.match(spoken):
            add("memmap", float(rebind["memmap"]))
            add("whole bind", float(rebind["bind"]))
        elif match := MONITOR.match(line):
            for name, seconds in match.groupdict().items():
                add(name, 1000 * float(seconds))
    if len(ticks) == 2 and ticks[1][0] > ticks[0][0]:
        add("ticks", 1000 * (ticks[1][1] - ticks[0][1]) / (ticks[1][0] - ticks[0][0]))
    return found


def boot_case(
    options: Options, kernel: Kernel, image: Path, case: Case, log: Path
) -> dict[str, list[float]]:
    """Boot a case once and return its values; Raises UserError unless the console is clean."""
    what = f"{case.name} ({kernel.name})"
    announce(what)
    head = kernel, image, "native", options.gib, case.words
    guest = Guest(*head, devices=case.devices)
    # It fills 256 MiB, and tells the microseconds.
    fill = float(run([options.build / "fill"], "native/fill.c").split()[1]) / 1000
    stolen, _ = read_cpu_times()
    text = boot_guest(guest, log, functools.partial(announce_stage, what), LIMIT)
    with name_console(what, log):
        values = read_values(text, kernel.release)
    if missing := {*case.shown} - values.keys():
        raise UserError(f"{what} does not tell of {missing.pop()} (whole console: {log})")
    return values | {"stolen": [10.0 * (read_cpu_times()[0] - stolen)], "host fill": [fill]}


def boot_cases(
    options: Options, pair: Sequence[Kernel], image: Path, boots: int, logs: Path
) -> tuple[list[dict[str, Any]], list[str]]:
    """Boot each case, base and series in turn; return an entry for each boot, and what failed.

    A case of which a boot fails has no entries: the others are kept.
    """
    entries: list[dict[str, Any]] = []
    failed = []
    for index, case in enumerate(list_cases(options.rebinds)):
        told = []
        try:
            # Calls need no second boot.
            for number in range(1, (boots if case.shown else 1) + 1):
                for name, kernel in zip(("base", "series"), pair, strict=True):
                    log = logs / f"whole-{index}-{number}-{name}.log"
                    head = {"case": case.name, "kernel": name, "shown": [*case.shown]}
                    told.append(head | {"values": boot_case(options, kernel, image, case, log)})
            entries += told
        except UserError as error:
            say(f"{case.name} failed, going on: {error}")
            failed.append(case.name)
    return entries, failed


def list_medians(entries: list[dict[str, Any]], case: str, kernel: str, what: str) -> list[float]:
    """Return the median of each boot, 0 where it does not tell of this."""
    return [
        statistics.median(entry["values"].get(what, [0]))
        for entry in entries
        if (entry["case"], entry["kernel"]) == (case, kernel)
    ]


def format_parts(entries: list[dict[str, Any]], case: str, of: str) -> list[str]:
    """Return which functions a bind or unbind spends its time in, and how often it calls them."""
    told = {what for entry in entries if entry["case"] == case for what in entry["values"]}
    names = {what.removesuffix("()") for what in told if what.startswith(f"{of} ")}
    found = {
        name: [
            statistics.median(list_medians(entries, case, kernel, what))
            for kernel in ("base", "series")
            for what in (name, f"{name}()")
        ]
        for name in names
    }
    large = sorted(found, key=lambda name: -max(found[name][::2]))[:LARGEST]
    more = [name for name in (f"{of} {one}" for one in COUNTED) if name not in large]
    head = f"{f'{of}, {case}':40}{'base, ms':>12}{'calls':>9}{'series, ms':>14}{'calls':>9}"
    lines = ["", head]
    for name in [*large, *more]:
        base, calls, series, others = found[name]
        cells = f"{base:12.1f}{calls:9.0f}{series:14.1f}{others:9.0f}"
        lines.append(f"{name.replace(of, ' ', 1):40}{cells}")
    return lines


def format_whole(entries: list[dict[str, Any]]) -> str:
    lines = [
        f"{'boot':36}{'what':18}{'n':>4}{'base, ms':>21}{'series, ms':>21}{'ratio':>7}",
    ]

    for case, shown in {entry["case"]: entry["shown"] for entry in entries}.items():
        for what in shown:
            both = [list_medians(entries, case, kernel, what) for kernel in ("base", "series")]
            cells = "".join(
                f"{statistics.median(one):7.1f} ({min(one):.1f}-{max(one):.1f})".rjust(21)
                for one in both
            )
            ratio = statistics.median(both[0]) / statistics.median(both[1])
            lines.append(f"{case:36}{what:18}{len(both[0]):4}{cells}{ratio:6.2f}x")

    def gather(what: str) -> list[float]:
        return [value for entry in entries for value in entry["values"].get(what, ())]

    parts = [
        line
        for case in dict.fromkeys(entry["case"] for entry in entries if not entry["shown"])
        for of in ("bind", "unbind")
        for line in format_parts(entries, case, of)
    ]
    if parts:
        parts[:0] = [
            "",
            "One bind and one unbind by the kernel's tracer: functions, without what it traces",
            "below them. Calls are exact. What flushes, maps or unmaps times the hypervisor.",
        ]
    share = [sum(gather(name)) / sum(gather("wall")) for name in ("cpu", "waited")]
    return "\n".join(
        [
            *lines,
            "",
            f"Medians over boots, and their range. Of the boots' time, the virtual CPU ran "
            f"{share[0]:.0%} and waited",
            f"{share[1]:.0%}; {sum(gather('stolen')):.0f} ms were stolen from the host. "
            f"A fill of 256 MiB takes {statistics.median(gather('fill')):.1f} ms",
            f"in the guest and {statistics.median(gather('host fill')):.1f} on the host; "
            f"the timer ticks {statistics.median(gather('ticks')):.0f} times a second.",
            *parts,
        ]
    )
