# SPDX-License-Identifier: GPL-2.0
"""`make replay-demotion`: compare and race how both kernels copy folios to a lower tier."""

from harness.kernel.config import turn_on
from harness.replay.build import CLANG, DEBIAN, DEBUG, REPLAY, Program, vary
from harness.replay.run import Replay
from harness.replay.samples import (
    Samples,
    align_rows,
    find_mean,
    find_ratio,
    find_time,
    list_runners,
)

TIERS = (
    # Jump labels are as in a distribution's kernel: a static key that is off costs a NOP.
    *turn_on("JUMP_LABEL NUMA_MIGRATION"),
    # Without it, no folio is PMD-sized.
    *turn_on("TRANSPARENT_HUGEPAGE X86_MCE MEMORY_FAILURE"),
)
CONFIGS = {
    "debian": DEBIAN,
    "default": vary("demotion", *TIERS),
    "debug": vary("demotion-debug", *TIERS, *DEBUG),
    "clang": vary("demotion-clang", *TIERS, tools=CLANG),
}
PROGRAM = Program(
    "demotion",
    REPLAY / "demotion",
    CONFIGS,
    ("mm/util", "arch/x86/lib/copy_mc", "arch/x86/lib/copy_mc_64"),
    ("demotion_poisoned",),
    # What the kernel calls to stream a page, and what it calls instead: the shim counts the calls.
    words=("--redefine-sym=copy_mc_page_nt=demotion_stream",),
)


def find_groups(samples: Samples, order: int, runner: str) -> dict[str, str]:
    """Return base / runner of an order: the copy, and what is read again, by where it fits."""
    cache = samples["second_level_kib"]
    some = [result for result in samples["results"] if result["order"] == order]
    beside = [result for result in some if result["other_kib"]]
    groups = {
        "neighbour that fits": [one for one in beside if one["other_kib"] < cache],
        "larger": [one for one in beside if one["other_kib"] >= cache],
        "copies read": [one for one in some if not one["other_kib"]],
    }
    found = {"copy": find_mean(beside, "base", runner, "copy")}
    for name, results in groups.items():
        if results:
            found[name] = find_mean(results, "base", runner, "read")
    return found


def format_table(samples: Samples) -> str:
    rows = []
    for result in samples["results"]:
        other = f"{result['other_kib']} KiB" if result["other_kib"] else "the copies"
        row = [f"order {result['order']}, {other:>10}:"]
        for what in ("copy", "read"):
            row += [f"{find_time(result, name, what):.2f}" for name in list_runners(result, what)]
            row.append(find_ratio(result, "base", "series", what))
        rows.append(row)
    told = "ns, base and series, and base / series: copy per page, read again per line\n"
    told += align_rows(rows)
    cache = samples["second_level_kib"] or "unknown"
    told += f"base / other, geometric means; the second-level cache has {cache} KiB\n"
    for order in sorted({result["order"] for result in samples["results"]}):
        for runner in list_runners(samples["results"][0], "copy")[1:]:
            found = find_groups(samples, order, runner).items()
            groups = ", ".join(f"{name} {ratio}" for name, ratio in found)
            told += f"order {order}, {runner}: {groups}\n"
    return told


def format_verdict(samples: Samples) -> str:
    """Return the last line: all orders, all sizes of the neighbour."""
    beside = [result for result in samples["results"] if result["other_kib"]]
    copy, neighbour = (find_mean(beside, "base", "series", what) for what in ("copy", "read"))
    return f"demotion: copy {copy}, neighbour {neighbour}"


DEMOTION = Replay(
    "demotion",
    PROGRAM,
    {
        "comparing every byte of the copies": ["check"],
        "looking at the copies from another thread": ["publish"],
    },
    # GiB, rounds of each process.
    (["race", "4", "5"],),
    format_table,
    format_verdict,
    # The checks know which folios the series streams.
    peer=False,
)
