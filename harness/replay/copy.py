# SPDX-License-Identifier: GPL-2.0
"""`make replay-copy`: compare memcpy_nt() with the kernel's other ways to copy, and race them."""

from harness.replay.build import CLANG, DEBIAN, REPLAY, Program, vary
from harness.replay.run import Replay
from harness.replay.samples import (
    Result,
    Samples,
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
