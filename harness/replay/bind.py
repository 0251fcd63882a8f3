# SPDX-License-Identifier: GPL-2.0
"""`make replay-bind`: map the memmap of a device, fill it, and unmap it again."""

from statistics import median

from harness.replay.build import DEBIAN, REPLAY, Program
from harness.replay.run import Replay
from harness.replay.samples import Result, Samples, find_mean, format_races, list_runs

PROGRAM = Program(
    "bind",
    REPLAY / "bind",
    {"debian": DEBIAN},
    (
        "mm/mm_init",
        "mm/page_alloc",
        "mm/sparse-vmemmap",
        "arch/x86/mm/init_64",
        "mm/memblock",
        "mm/vmstat",
        "kernel/padata",
    ),
    ("replay_event", "replay_pgmap", "bind_memory", "replay_queue", "replay_cancel"),
)


PARTS = ("populate", "fill", "free")


def name_race(result: Result) -> str:
    """Return what is bound, and how."""
    where = "dev" if result["altmap"] else "mem"
    init = ", init_on_alloc" * result["init_on_alloc"]
    return f"{result['gib']:>3} GiB, order {result['order']:>2}, map={where}{init}"


def format_table(samples: Samples) -> str:
    """Return the table of the races, and below it the parts and what each kernel did."""
    rows = [format_races(name_race, samples)]
    rows.append(f"ms to {', '.join(PARTS)}; TLB flushes, locks taken, pages allocated\n")
    for result in samples["results"]:
        for kernel in ("base", "series"):
            runs = [run[kernel] for run in list_runs(result)]
            times = "".join(f"{median(one[part] for one in runs):9.3f}" for part in PARTS)
            counts = "".join(f"{runs[0][what]:9}" for what in ("flushes", "locks", "allocated"))
            rows.append(f"{name_race(result):42}{kernel:7}{times}{counts}\n")
    return "".join(rows)


def format_verdict(samples: Samples) -> str:
    """Return the last line: what Debian's users wait for, an ordinary device with init_on_alloc."""
    some = samples["results"][:1]
    faster, over = find_mean(some, "base", "series"), find_mean(some, "series", "limit")
    return f"bind: series is {faster} as fast as base, {over} the fill"


BIND = Replay(
    "bind",
    PROGRAM,
    {"comparing page tables, references and memmaps": ["check"]},
    # GiB of the device, rounds of each process.
    (["race", "100", "3"], ["race", "16", "5"], ["race", "1", "9"]),
    format_table,
    format_verdict,
    peer=False,
)
