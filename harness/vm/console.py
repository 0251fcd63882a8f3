# SPDX-License-Identifier: GPL-2.0
"""Read a guest's console: complaints of the kernel, and the times of each bind."""

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.core import UserError

# Every form in which a kernel reports a fault of its own. Each line is judged alone, so that a
# running guest can be stopped at the first one.
SPLATS = re.compile(
    r"""
      \bWARNING:\s | \bBUG:\s | \bkernel\ BUG\ at\s | \bOops\b | Kernel\ panic
    | Call\ [Tt]race: | ---\[\ end | \[\ cut\ here\ \]
    | general\ protection\ fault | unable\ to\ handle | double\ fault | invalid\ opcode
    | unchecked\ MSR\ access | stack\ guard\ page
    | \b(?:KASAN|KCSAN|KMSAN|UBSAN|KFENCE):\s
    | detected\ stalls | self-detected\ stall | rcu.*kthread\ starved | soft\ lockup
    | hard\ LOCKUP | blocked\ for\ more\ than
    | INFO:\ task\ | INFO:\ possible | possible\ circular\ locking
    | possible\ recursive\ locking | inconsistent\ lock\ state | suspicious\ RCU
    | bad\ unlock\ balance | scheduling\ while\ atomic | sleeping\ function\ called
    | DEBUG_LOCKS_WARN_ON
    | refcount_t:\s | list_(?:add|del)\ corruption | [Bb]ad\ page\ (?:state|map)
    | page\ dumped\ because | Bad\ rss-counter | stack-protector:
    | Out\ of\ memory | invoked\ oom-killer | \bsegfault\ at\b
    | \btrap\ (?:invalid|divide|int3) | Attempted\ to\ kill\ init
    """,
    re.X,
)

SAY = re.compile(r"\] zdm: (.*)$")
FAILED = "failed: "
DONE = "done"
# How printk starts a line.
PRINTK = r"^(?:<\d+>)?\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? "
# It matches whole lines only, so that neither a torn line nor another message counts.
INITIALISED = re.compile(
    PRINTK + r"memmap_init_zone_device initialised (?P<pages>\d+) pages in (?P<ms>\d+)ms$"
)
FIRST = re.compile(r"^stage: first bind, (\S+)$")
# The number is the index of the device, as it comes from namespaceN.0. With --map=mem, that is
# bound itself, and else pfnN.0 or daxN.0.
REBIND = re.compile(
    r"^# (\w+) (?:pfn|dax|namespace)(?P<device>\d+)\S*: rebind (?P<number>\d+)/(?P<of>\d+): "
    r"memmap (?P<memmap>\d+) ms, bind (?P<bind>\d+\.\d+) ms, (?P<pages>\d+) pages$"
)
STAGE = "stage: "


class BadConsole(UserError):
    """The console does not show a complete, clean run; the text says what is wrong."""


@contextlib.contextmanager
def name_console(what: str, log: Path) -> Iterator[None]:
    """Name the boot and its log in a BadConsole of the block."""
    try:
        yield
    except BadConsole as error:
        raise UserError(f"{what}: {error} (whole console: {log})") from None


@dataclass
class Times:
    """One device's times in ms in one boot: the memmap's first, then memmap and bind by rebind."""

    first: int = 0
    memmap: list[int] = field(default_factory=list)
    bind: list[float] = field(default_factory=list)


def is_splat(line: str) -> bool:
    return bool(SPLATS.search(line))


def read_message(line: str) -> str:
    """Return what guest/init says on this line; an empty string for a line of the kernel's."""
    match = SAY.search(line)
    return match[1] if match else ""


def list_messages(console: str) -> list[str]:
    return list(filter(None, map(read_message, console.splitlines())))


def split_console(console: str, release: str) -> list[str]:
    """Return the lines of a whole console log.

    Raises BadConsole when the kernel is not release, when the guest did not reach its end, and when
    a line is a splat.
    """
    lines = [line.rstrip("\r") for line in console.split("\n")]
    if trouble := [line for line in lines if is_splat(line)]:
        raise BadConsole(f"the kernel complained: {trouble[0].strip()}")
    if not any(f"Linux version {release} " in line for line in lines):
        raise BadConsole(f"no line says that this is kernel {release}")
    if failed := [text for text in map(read_message, lines) if text.startswith(FAILED)]:
        raise BadConsole(f"the guest {failed[0]}")
    if DONE not in map(read_message, lines):
        raise BadConsole("the guest did not reach its end")
    return lines


def read_times(
    console: str, release: str, rebinds: int, pages: Mapping[str, int]
) -> dict[str, Times]:
    """Return the times of each device from a whole console log.

    pages gives the number of struct pages of each device by name, in the order of the namespaces.
    Raises BadConsole as split_console() does, and unless kernel and selftest report each bind once
    and alike.
    """
    found = {name: Times() for name in pages}
    # Of the first binds, then of the rebinds: who was bound, and (ms, pages) of each memmap.
    firsts: list[tuple[str, int, int]] = []
    kernel: list[tuple[int, int]] = []
    selftest: list[tuple[str, int, int]] = []
    stage = ""
    for line in split_console(console, release):
        text = read_message(line)
        if text.startswith(STAGE):
            stage = text
        elif match := INITIALISED.match(line):
            event = int(match["ms"]), int(match["pages"])
            if first := FIRST.match(stage):
                firsts.append((first[1], *event))
            else:
                kernel.append(event)
        elif match := REBIND.match(text):
            if int(match["device"]) >= len(pages):
                raise BadConsole(
                    f"a rebind names a device that the guest does not have: {match[0]}"
                )
            name = [*pages][int(match["device"])]
            found[name].memmap.append(int(match["memmap"]))
            found[name].bind.append(float(match["bind"]))
            due, told = f"{len(found[name].bind)}/{rebinds}", f"{match['number']}/{match['of']}"
            if told != due:
                raise BadConsole(f"rebind {due} of {name} was expected, {told} was reported")
            selftest.append((name, int(match["memmap"]), int(match["pages"])))
    bound = [name for name, *_ in firsts]
    if foreign := set(bound) - pages.keys():
        raise BadConsole(f"{foreign.pop()} was bound, but the guest has no such device")
    for name, times in found.items():
        if bound.count(name) != 1:
            raise BadConsole(
                f"the first bind of {name} printed {bound.count(name)} memmap lines, not one"
            )
        times.first = firsts[bound.index(name)][1]
        if len(times.memmap) != rebinds:
            raise BadConsole(f"{len(times.memmap)} rebinds of {name} were reported, not {rebinds}")
    if kernel != [(ms, count) for _, ms, count in selftest]:
        raise BadConsole(
            f"the kernel's {len(kernel)} memmap lines and "
            f"the selftest's {len(selftest)} rebinds disagree"
        )
    for name, _, count in firsts + selftest:
        if count != pages[name]:
            raise BadConsole(f"{count} pages of {name} were initialised, but it has {pages[name]}")
    return found
