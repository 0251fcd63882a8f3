# SPDX-License-Identifier: GPL-2.0
"""`make replay-bind`: map the memmap of a device, fill it, and unmap it again."""

from dataclasses import replace

from harness.replay.build import DEBIAN, REPLAY, Program
from harness.replay.run import Replay
from harness.replay.samples import Result, Samples, align_rows, find_time, format_gain, format_races

# As Debian's compiler makes it. The program writes over the jumps to the return thunk that objtool
# lists, as a kernel does when it boots, so that returns are plain or those of Safe RET.
THUNKED = replace(
    DEBIAN,
    name="thunked",
    args=("KCFLAGS=-mnop-mcount", "delay-objtool=", "objtool-args=--hacks=jump_label --rethunk"),
)
PROGRAM = Program(
    "bind",
    REPLAY / "bind",
    {"debian": THUNKED},
    (
        "mm/mm_init",
        "mm/page_alloc",
        "mm/sparse-vmemmap",
        "arch/x86/mm/init_64",
        "mm/memblock",
        "mm/vmstat",
        "kernel/padata",
    ),
    ("replay_event", "replay_pgmap", "replay_memory", "replay_queue", "replay_cancel"),
)


PARTS = ("populate", "fill", "unmap")
COUNTS = ("flushes", "locks", "allocated")


def name_race(result: Result) -> str:
    """Return what is bound, and how."""
    size = f"{result['mib'] >> 10} GiB" if result["mib"] >> 10 else f"{result['mib']} MiB"
    options = ["map=dev" if result["altmap"] else "map=mem"]
    options += ["init_on_alloc"] * result["init_on_alloc"] + ["Safe RET"] * result["safe_ret"]
    return f"{size:>7}, order {result['order']:>2}, {', '.join(options)}"


def format_table(samples: Samples) -> str:
    """Return the table of the races, and below it the parts and what each kernel did."""
    rows = []
    for result in samples["results"]:
        for kernel in ("base", "series"):
            times = [f"{find_time(result, kernel, part):.3f}" for part in PARTS]
            # What is the same in all processes stands in their first, too.
            counts = [str(result["runs"][0][kernel][what]) for what in COUNTS]
            rows.append([name_race(result), kernel, *times, *counts])
    what = f"ms to {', '.join(PARTS)}; TLB flushes, locks taken, pages allocated\n"
    return format_races(name_race, samples) + what + align_rows(rows)


def format_verdict(samples: Samples) -> str:
    """Return the last line: what Debian's users wait for, an ordinary device with init_on_alloc."""
    return format_gain("bind", samples["results"][:1], "fill")


BIND = Replay(
    "bind",
    PROGRAM,
    {"comparing page tables, references and memmaps": ["check"]},
    # MiB of the device, rounds of each process.
    (["race", "102400", "3"], ["race", "16384", "5"], ["race", "1024", "9"], ["race", "128", "25"]),
    format_table,
    format_verdict,
    peer=False,
)
