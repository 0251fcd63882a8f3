# SPDX-License-Identifier: GPL-2.0
"""`make replay-copy`: compare memcpy_nt() with the kernel's other ways to copy, and race them."""

import statistics

from harness.replay.build import CLANG, DEBIAN, REPLAY, Program, vary
from harness.replay.run import Replay
from harness.replay.samples import (
    Result,
    Samples,
    find_mean,
    find_ratio,
    find_ratios,
    find_time,
    list_runners,
)

PROGRAM = Program(
    "copy",
    REPLAY / "copy",
    {"debian": DEBIAN, "default": vary("copy"), "clang": vary("copy-clang", tools=CLANG)},
    # Program.link_side() adds those of memcpy() and __memcpy_flushcache().
    ("arch/x86/lib/copy_user_uncached_64",),
    (),
)
# From so many bytes on, memcpy_nt() streams.
STREAMED = 4096


def name_race(result: Result) -> str:
    """Return the size, and how the destinations lie: a constant size has them so far apart."""
    size = result["bytes"] - result["bytes"] % 2
    told = next(
        f"{size >> n} {unit}" for n, unit in ((20, "MiB"), (10, "KiB"), (0, "bytes")) if size >> n
    )
    told += " + 1" * (result["bytes"] % 2)
    told += f", shifted by {result['shifted']}" * bool(result["shifted"])
    return f"{told}, {result['apart']} apart" if "apart" in result else told


def format_table(samples: Samples) -> str:
    """Return for each size the times, and how much faster memcpy_nt() is than memcpy()."""
    names = list_runners(samples["results"][0])
    width = max(len(name_race(result)) for result in samples["results"])
    rows = [
        f"alternatives applied: {samples['alternatives'] or 'none'}",
        "the destination is in no cache, the source may be; N apart: 64 is a constant",
        f"{'':{width}}" + "".join(f"{name:>21}" for name in names) + "   memcpy() / memcpy_nt()",
    ]
    for result in samples["results"]:
        times = "".join(f"{find_time(result, name):21.2f}" for name in names)
        ratio = find_ratio(result, "memcpy", "memcpy_nt")
        rows.append(f"{name_race(result):{width}}{times}   {ratio}")
    return "\n".join(rows) + "\n"


def format_verdict(samples: Samples) -> str:
    """Return the last line: the sizes that memcpy_nt() streams, and at which of them it loses."""
    streamed = [
        result
        for result in samples["results"]
        if "apart" not in result and result["bytes"] >= STREAMED
    ]
    aligned = [result for result in streamed if not result["shifted"]]
    faster = find_mean(aligned, "memcpy", "memcpy_nt")
    over = find_mean(aligned, "memcpy_nt", "copy_to_nontemporal")
    slower = [
        name_race(result)
        for result in streamed
        if statistics.median(find_ratios(result, "memcpy", "memcpy_nt")) < 0.97
    ]
    return (
        f"copy: memcpy_nt is {faster} as fast as memcpy, {over} of copy_to_nontemporal; "
        f"streamed, and more than 3 % slower: {', '.join(slower) or 'none'}"
    )


COPY = Replay(
    "copy",
    PROGRAM,
    {"comparing every byte of the copies": ["check"]},
    # MiB to copy to, rounds of each process.
    (["race", "256", "3"],),
    format_table,
    format_verdict,
)
