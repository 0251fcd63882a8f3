# SPDX-License-Identifier: GPL-2.0
"""`make replay-copy`: compare memcpy_nt() with the kernel's other ways to copy, and race them."""

from harness.replay.build import CLANG, REPLAY, Program, vary
from harness.replay.run import Replay
from harness.replay.samples import Result, Samples, find_mean, find_ratio, find_time, list_runners

PROGRAM = Program(
    "copy",
    REPLAY / "copy",
    {"default": vary("copy"), "clang": vary("copy-clang", tools=CLANG)},
    # Program.link_side() adds those of memcpy() and __memcpy_flushcache().
    ("arch/x86/lib/copy_user_uncached_64",),
    (),
)
# From here on, memcpy_nt() streams what is aligned.
STREAMED = 256


def name_race(result: Result) -> str:
    """Return the size, and where in a line the destination begins if not at its start."""
    size = result["bytes"] - result["bytes"] % 2
    told = next(
        f"{size >> n} {unit}" for n, unit in ((20, "MiB"), (10, "KiB"), (0, "bytes")) if size >> n
    )
    if not result["shifted"]:
        return told
    return f"{told} + {result['bytes'] % 2}, shifted by {result['shifted']}"


def format_table(samples: Samples) -> str:
    """Return for each size the times, and how much faster memcpy_nt() is than memcpy()."""
    names = list_runners(samples["results"][0])
    rows = [
        "the destination is in no cache, the source may be",
        f"{'':24}" + "".join(f"{name:>21}" for name in names) + "   memcpy() / memcpy_nt()",
    ]
    for result in samples["results"]:
        times = "".join(f"{find_time(result, name):21.2f}" for name in names)
        rows.append(f"{name_race(result):24}{times}   {find_ratio(result, 'memcpy', 'memcpy_nt')}")
    return "\n".join(rows) + "\n"


def format_verdict(samples: Samples) -> str:
    """Return the last line: aligned copies of the sizes that memcpy_nt() streams."""
    some = [
        result
        for result in samples["results"]
        if result["bytes"] >= STREAMED and not result["shifted"]
    ]
    faster = find_mean(some, "memcpy", "memcpy_nt")
    over = find_mean(some, "memcpy_nt", "copy_to_nontemporal")
    return f"copy: memcpy_nt is {faster} as fast as memcpy, {over} of copy_to_nontemporal"


COPY = Replay(
    "copy",
    PROGRAM,
    {"comparing every byte of the copies": ["check"]},
    # MiB to copy to, rounds of each process.
    (["race", "256", "3"],),
    format_table,
    format_verdict,
)
