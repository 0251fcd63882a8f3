# SPDX-License-Identifier: GPL-2.0
"""`make replay-copy`: compare memcpy_nt() with the kernel's other ways to copy, and race them."""

from harness.replay.build import CLANG, DEBIAN, REPLAY, Program, vary
from harness.replay.run import Replay
from harness.replay.samples import (
    Result,
    Samples,
    align_rows,
    find_mean,
    find_ratio,
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
    names = list_runners(samples["results"][0])
    rows = [["", *names, "memcpy() / memcpy_nt()"]]
    for result in samples["results"]:
        times = [f"{find_time(result, name):.2f}" for name in names]
        rows.append([name_race(result), *times, find_ratio(result, "memcpy", "memcpy_nt")])
    told = f"alternatives applied: {samples['alternatives'] or 'none'}\n"
    told += "the destination is in no cache, the source may be; N apart: 64 is a constant\n"
    return told + align_rows(rows)


def format_verdict(samples: Samples) -> str:
    """Return the last line: copies of 64 bytes that fill the lines, and others that do not."""
    inline = [result for result in samples["results"] if "apart" in result]
    whole = [one for one in inline if one["apart"] == one["bytes"] or not one["shifted"]]
    parts = [one for one in inline if one not in whole]
    filled, partial = (find_mean(some, "memcpy", "memcpy_nt") for some in (whole, parts))
    return (
        f"copy: 64 bytes by memcpy_nt are {filled} as fast as by memcpy, "
        f"{partial} where parts of lines stay unwritten"
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
