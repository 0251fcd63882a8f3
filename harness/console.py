# SPDX-License-Identifier: GPL-2.0
"""What a guest's console says: signs of trouble, and the times of each bind."""

import re
from dataclasses import dataclass, field

# Every shape in which a kernel reports a fault of its own. A line is judged by
# itself, so that a running guest can be stopped at the first one.
SPLATS = re.compile(
    r"""
      \bWARNING:\s | \bBUG:\s | \bkernel\ BUG\ at\s | \bOops\b | Kernel\ panic | Call\ [Tt]race: | ---\[\ end | \[\ cut\ here\ \]
    | general\ protection\ fault | unable\ to\ handle | double\ fault | invalid\ opcode | unchecked\ MSR\ access | stack\ guard\ page
    | \b(?:KASAN|KCSAN|KMSAN|UBSAN|KFENCE):\s
    | detected\ stalls | self-detected\ stall | rcu.*kthread\ starved | soft\ lockup | hard\ LOCKUP | blocked\ for\ more\ than
    | INFO:\ task\ | INFO:\ possible | possible\ circular\ locking | possible\ recursive\ locking | inconsistent\ lock\ state | suspicious\ RCU
    | bad\ unlock\ balance | scheduling\ while\ atomic | sleeping\ function\ called | DEBUG_LOCKS_WARN_ON
    | refcount_t:\s | list_(?:add|del)\ corruption | [Bb]ad\ page\ (?:state|map) | page\ dumped\ because | Bad\ rss-counter | stack-protector:
    | Out\ of\ memory | invoked\ oom-killer | \bsegfault\ at\b | \btrap\ (?:invalid|divide|int3) | Attempted\ to\ kill\ init
    """,
    re.X,
)

SAY = re.compile(r"\] zdm: (.*)$")
FAILED = "failed: "
DONE = "done"
# The whole text, so that neither a torn line nor another function's message counts.
INITIALISED = re.compile(
    r"^(?:<\d+>)?\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? memmap_init_zone_device initialised (\d+) pages in (\d+)ms$"
)
FIRST = re.compile(r"^stage: first bind, (nd_pmem|dax_pmem)$")
REBIND = re.compile(
    r"^# (nd_pmem|dax_pmem) (\S+): rebind (\d+)/(\d+): memmap (\d+) ms, bind (\d+\.\d+) ms, (\d+) pages$"
)
STAGE = "stage: "
DRIVERS = ("nd_pmem", "dax_pmem")


class BadConsole(Exception):
    """A console that does not show a complete, clean run; the text says what is wrong."""


@dataclass
class Times:
    """One driver's times in one boot, in milliseconds: the first bind's memmap, and of each rebind memmap and whole bind."""

    first: int = 0
    memmap: list[int] = field(default_factory=list)
    bind: list[float] = field(default_factory=list)


def splat(line: str) -> bool:
    """Return whether a console line reports a fault of the kernel."""
    return bool(SPLATS.search(line))


def said(line: str) -> str:
    """Return what guest/init said on this line, without its prefix; empty if it is the kernel's."""
    match = SAY.search(line)
    return match[1] if match else ""


def times(console: str, release: str, rebinds: int, pages: int) -> dict[str, Times]:
    """Return each driver's times from a whole console log.

    Raises BadConsole unless the kernel is release, the guest reached its end,
    no line is a splat, and the selftest's account (per driver: rebinds lines,
    numbered in order) agrees with the kernel's own lines, each of exactly
    pages pages.
    """
    lines = [line.rstrip("\r") for line in console.split("\n")]
    if trouble := [line for line in lines if splat(line)]:
        raise BadConsole(f"the kernel complained: {trouble[0].strip()}")
    if not any(f"Linux version {release} " in line for line in lines):
        raise BadConsole(f"no line says that this is kernel {release}")
    found = {driver: Times() for driver in DRIVERS}
    stage = ""
    kernel: list[tuple[int, int]] = []
    told: list[tuple[int, int]] = []
    firsts: dict[str, list[tuple[int, int]]] = {driver: [] for driver in DRIVERS}
    for line in lines:
        text = said(line)
        if text.startswith(STAGE):
            stage = text
        elif text.startswith(FAILED):
            raise BadConsole(f"the guest {text}")
        elif match := INITIALISED.match(line):
            event = int(match[2]), int(match[1])
            first = FIRST.match(stage)
            (firsts[first[1]] if first else kernel).append(event)
        elif match := REBIND.match(text):
            of = found[match[1]]
            of.memmap.append(int(match[5]))
            of.bind.append(float(match[6]))
            told.append((int(match[5]), int(match[7])))
            if (int(match[3]), int(match[4])) != (len(of.memmap), rebinds):
                raise BadConsole(f"rebind {match[3]}/{match[4]} of {match[1]} where {len(of.memmap)}/{rebinds} was due")
    if not lines or DONE not in (said(line) for line in lines):
        raise BadConsole("the guest did not reach its end")
    for driver, events in firsts.items():
        if len(events) != 1:
            raise BadConsole(f"the first bind of {driver} printed {len(events)} memmap lines, not one")
        if len(found[driver].memmap) != rebinds:
            raise BadConsole(f"{len(found[driver].memmap)} rebinds of {driver} are told, not {rebinds}")
        found[driver].first = events[0][0]
    if kernel != told:
        raise BadConsole(f"the kernel's {len(kernel)} memmap lines and the selftest's {len(told)} rebinds disagree")
    for _, count in [*kernel, *(event for events in firsts.values() for event in events)]:
        if count != pages:
            raise BadConsole(f"{count} pages were initialised where the device has {pages}")
    return found
