# SPDX-License-Identifier: GPL-2.0
"""`make replay-demotion`: compare and race how both kernels copy folios to a lower tier."""

from pathlib import Path

from harness.kernel.config import turn_on
from harness.replay import plot
from harness.replay.build import CLANG, DEBIAN, DEBUG, REPLAY, Program, vary
from harness.replay.run import Replay
from harness.replay.samples import Samples, find_mean, find_ratio, find_time, list_runners

CACHE = Path("/sys/devices/system/cpu/cpu0/cache/index2/size")
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


def read_cache(size: Path = CACHE) -> Samples:
    """Return the size of the second-level cache, 0 where the system does not tell it."""
    told = size.read_text().strip() if size.exists() else "0K"
    return {"second_level_kib": int(told.removesuffix("K"))}


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
    rows = ["ns, base and series, and base / series: copy per page, read again per line"]
    for result in samples["results"]:
        other = f"{result['other_kib']} KiB" if result["other_kib"] else "the copies"
        row = f"order {result['order']}, {other:>10}:"
        for what in ("copy", "read"):
            for name in list_runners(result, what):
                row += f"{find_time(result, name, what):9.2f}"
            row += f"  {find_ratio(result, 'base', 'series', what):19}"
        rows.append(row.rstrip())
    cache = samples["second_level_kib"] or "unknown"
    rows.append(f"base / other, geometric means; the second-level cache has {cache} KiB")
    for order in sorted({result["order"] for result in samples["results"]}):
        for runner in list_runners(samples["results"][0], "copy")[1:]:
            found = find_groups(samples, order, runner).items()
            told = ", ".join(f"{name} {ratio}" for name, ratio in found)
            rows.append(f"order {order}, {runner}: {told}")
    return "\n".join(rows) + "\n"


def format_verdict(samples: Samples) -> str:
    """Return the last line: all orders, all sizes of the neighbour."""
    beside = [result for result in samples["results"] if result["other_kib"]]
    copy, neighbour = (find_mean(beside, "base", "series", what) for what in ("copy", "read"))
    return f"demotion: copy {copy}, neighbour {neighbour}"


def draw_copies(samples: Samples, png: Path) -> None:
    orders = sorted({result["order"] for result in samples["results"]})
    labels = {"copy": "copy: ns per 4 KiB", "read": "read again: ns per 64 bytes"}
    verdict = f"{format_verdict(samples)} (base / series: above 1, the series is faster)"
    title, columns = f"{verdict}\n{plot.describe_race(samples)}", len(orders)
    with plot.open_figure(png, title, (5, 3.5), 2, columns, one_scale=False) as panels:
        for column, order in enumerate(orders):
            some = [result for result in samples["results"] if result["order"] == order]
            beside = [result for result in some if result["other_kib"]]
            sizes = [result["other_kib"] for result in beside]
            for row, (what, label) in enumerate(labels.items()):
                axes = panels[row][column]
                plot.draw_lines(axes, sizes, beside, what)
                axes.set_xscale("log", base=2)
                axes.set_ylabel(label)
            panels[0][column].set_title(f"folios of order {order}")
            panels[1][column].set_xlabel("KiB of other data")


DEMOTION = Replay(
    "demotion",
    PROGRAM,
    {
        "comparing every byte of the copies": ["check"],
        "looking at the copies from another CPU": ["publish"],
    },
    # GiB, rounds of each process.
    (["race", "4", "5"],),
    format_table,
    format_verdict,
    draw_copies,
    read_cache,
    # The checks know which folios the series streams.
    peer=False,
)
