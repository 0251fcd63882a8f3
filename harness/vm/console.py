# SPDX-License-Identifier: GPL-2.0
"""Read a guest's console: complaints of the kernel, and the times of each bind."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

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
# How printk starts a line; the time is in seconds.
PRINTK = r"^(?:<\d+>)?\[ *(?P<at>\d+\.\d+)\](?:\[ *[TC]\d+\])? "
# It matches whole lines only, so that neither a torn line nor another message counts.
INITIALISED = re.compile(
    PRINTK + r"memmap_init_zone_device initialised (?P<pages>\d+) pages in (?P<ms>\d+)ms$"
)
FIRST = re.compile(r"^stage: first bind, (\S+)$")
# The number in pfnN.0 or daxN.0 is the index of the device, as it comes from namespaceN.0.
REBIND = re.compile(
    r"^# (\w+) (?:pfn|dax)(?P<device>\d+)\S*: rebind (?P<number>\d+)/(?P<of>\d+): "
    r"memmap (?P<memmap>\d+) ms, bind (?P<bind>\d+\.\d+) ms, (?P<pages>\d+) pages$"
)
STAGE = "stage: "


class BadConsole(Exception):
    """The console does not show a complete, clean run; the text says what is wrong."""


@dataclass
class Times:
    """One device's times in ms in one boot: the memmap's first, then memmap and bind by rebind."""

    first: int = 0
    memmap: list[int] = field(default_factory=list)
    bind: list[float] = field(default_factory=list)


def is_splat(line: str) -> bool:
    """Return whether a console line reports a fault of the kernel."""
    return bool(SPLATS.search(line))


def read_message(line: str) -> str:
    """Return what guest/init says on this line; an empty string for a line of the kernel's."""
    match = SAY.search(line)
    return match[1] if match else ""


def list_messages(console: str) -> list[str]:
    """Return what guest/init says in a console's text, line by line."""
    return list(filter(None, map(read_message, console.splitlines())))


@dataclass
class Account:
    """What a console tells of binds, as (ms, pages): the kernel's lines, and the selftest's.

    firsts are the kernel's lines of each device's first bind, kernel those of the rebinds.
    """

    times: dict[str, Times]
    firsts: dict[str, list[tuple[int, int]]]
    kernel: list[tuple[int, int]] = field(default_factory=list)
    selftest: list[tuple[int, int]] = field(default_factory=list)
    counts: list[tuple[str, int]] = field(default_factory=list)


def read_rebind(account: Account, match: re.Match[str], rebinds: int) -> None:
    """Add a rebind that the selftest reports; Raises BadConsole if it is not the next one."""
    names = list(account.times)
    if int(match["device"]) >= len(names):
        raise BadConsole(f"a rebind names a device that the guest does not have: {match[0]}")
    name = names[int(match["device"])]
    times = account.times[name]
    times.memmap.append(int(match["memmap"]))
    times.bind.append(float(match["bind"]))
    account.selftest.append((int(match["memmap"]), int(match["pages"])))
    account.counts.append((name, int(match["pages"])))
    due = len(times.memmap)
    if (int(match["number"]), int(match["of"])) != (due, rebinds):
        raise BadConsole(
            f"rebind {due}/{rebinds} of {name} was expected, "
            f"{match['number']}/{match['of']} was reported"
        )


def read_account(lines: list[str], names: Iterable[str], rebinds: int) -> Account:
    """Return what the lines tell of the named devices; Raises BadConsole as read_rebind() does."""
    account = Account({name: Times() for name in names}, {name: [] for name in names})
    stage = ""
    for line in lines:
        text = read_message(line)
        if text.startswith(STAGE):
            stage = text
        elif match := INITIALISED.match(line):
            event = int(match["ms"]), int(match["pages"])
            first = FIRST.match(stage)
            if first and first[1] not in account.firsts:
                raise BadConsole(f"{first[1]} was bound, but the guest has no such device")
            (account.firsts[first[1]] if first else account.kernel).append(event)
        elif match := REBIND.match(text):
            read_rebind(account, match, rebinds)
    return account


def check_account(account: Account, rebinds: int, pages: Mapping[str, int]) -> None:
    """Raise BadConsole unless every bind is reported once, by kernel and selftest alike."""
    counts = list(account.counts)
    for name, events in account.firsts.items():
        if len(events) != 1:
            raise BadConsole(
                f"the first bind of {name} printed {len(events)} memmap lines, not one"
            )
        reported = len(account.times[name].memmap)
        if reported != rebinds:
            raise BadConsole(f"{reported} rebinds of {name} were reported, not {rebinds}")
        counts.append((name, events[0][1]))
    if account.kernel != account.selftest:
        raise BadConsole(
            f"the kernel's {len(account.kernel)} memmap lines and "
            f"the selftest's {len(account.selftest)} rebinds disagree"
        )
    for name, count in counts:
        if count != pages[name]:
            raise BadConsole(f"{count} pages of {name} were initialised, but it has {pages[name]}")


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
    Raises BadConsole as split_console() and check_account() do.
    """
    account = read_account(split_console(console, release), pages, rebinds)
    check_account(account, rebinds, pages)
    for name, times in account.times.items():
        times.first = account.firsts[name][0][0]
    return account.times
