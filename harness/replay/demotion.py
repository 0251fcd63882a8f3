# SPDX-License-Identifier: GPL-2.0
"""`make replay-demotion`: compare and race how both kernels copy folios to a lower tier."""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

from harness.core.command import run
from harness.core.options import Options
from harness.core.progress import announce, say
from harness.core.stages import run_stage
from harness.kernel import tree
from harness.replay.demotion_build import build_demotion
from harness.replay.plot import INK, LOOKS
from harness.replay.samples import find_ratio, keep_samples, run_races

GIB = 4
ROUNDS = 21
CACHE = Path("/sys/devices/system/cpu/cpu0/cache/index2/size")
Result = dict[str, Any]


def check_copies(program: Path) -> str:
    """Compare every byte, also as another CPU sees it; Raises UserError at a difference."""
    announce("comparing every byte of the copies")
    text = run([program, "check"], "comparing the copies", progress=print)
    announce("looking at the copies from another CPU")
    return text + run([program, "publish"], "looking from another CPU", progress=print)


def find_mean(results: Sequence[Result], what: str, runner: str = "series") -> float:
    """Return the geometric mean of base / runner over results, of "copy" or "read"."""
    return statistics.geometric_mean(find_ratio(result[what], "base", runner) for result in results)


def find_groups(samples: Result, order: int, runner: str) -> dict[str, float]:
    """Return base / runner of an order: the copy, and what is read again, by where it fits."""
    cache = samples["second_level_kib"]
    some = [result for result in samples["results"] if result["order"] == order]
    beside = [result for result in some if result["other_kib"]]
    return {
        "copy": find_mean(beside, "copy", runner),
        "fits": find_mean([one for one in beside if one["other_kib"] < cache], "read", runner),
        "larger": find_mean([one for one in beside if one["other_kib"] >= cache], "read", runner),
        "at once": find_mean([one for one in some if not one["other_kib"]], "read", runner),
    }


def format_groups(samples: Result) -> str:
    """Return a line for each order: what is read again, by where it fits, and the copies."""
    cache = samples["second_level_kib"]
    rows = [f"base / other, geometric means; the second-level cache has {cache} KiB"]
    for order in sorted({result["order"] for result in samples["results"]}):
        for runner in list(samples["results"][0]["copy"])[1:]:
            found = find_groups(samples, order, runner)
            rows.append(
                f"order {order}, {runner}: copy {found['copy']:.2f}x, "
                f"neighbour that fits {found['fits']:.2f}x, larger {found['larger']:.2f}x, "
                f"copies read {found['at once']:.2f}x"
            )
    return "\n".join(rows) + "\n"


def format_verdict(samples: Result) -> str:
    """Return the last line: both orders, all sizes of the neighbour."""
    beside = [result for result in samples["results"] if result["other_kib"]]
    copy, neighbour = find_mean(beside, "copy"), find_mean(beside, "read")
    return f"demotion: copy {copy:.2f}x, neighbour {neighbour:.2f}x"


def draw_copies(samples: Result, png: Path) -> None:
    """Draw both times over the size of the neighbour: medians, with quartiles as bands."""
    orders = sorted({result["order"] for result in samples["results"]})
    figure, panels = pyplot.subplots(
        2, len(orders), figsize=(5 * len(orders), 7), sharex=True, layout="constrained"
    )
    labels = {"copy": "copy: ns per 4 KiB", "read": "read again: ns per 64 bytes"}
    for column, order in enumerate(orders):
        beside = [
            result
            for result in samples["results"]
            if result["order"] == order and result["other_kib"]
        ]
        sizes = [result["other_kib"] for result in beside]
        for row, (what, label) in enumerate(labels.items()):
            axes = panels[row][column]
            for name in beside[0][what]:
                low, middle, high = zip(
                    *(
                        statistics.quantiles(result[what][name], n=4, method="inclusive")
                        for result in beside
                    ),
                    strict=True,
                )
                look = LOOKS[name]
                axes.fill_between(sizes, low, high, color=look["color"], alpha=0.15, linewidth=0)
                axes.plot(sizes, middle, label=name, **look)
            axes.set_xscale("log", base=2)
            axes.set_ylim(bottom=0)
            axes.set_ylabel(label, color=INK)
            axes.grid(axis="y", color="#e3e5e8")
            axes.spines[["top", "right"]].set_visible(False)
        panels[0][column].set_title(f"folios of order {order}", color=INK)
        panels[1][column].set_xlabel("KiB of other data", color=INK)
    panels[0][0].legend(frameon=False)
    rounds = len(samples["results"][0]["copy"]["base"])
    figure.suptitle(f"{samples['cpu']}, {rounds} rounds, {samples['date']}", fontsize=9, color=INK)
    figure.savefig(png, dpi=130)
    pyplot.close(figure)


def run_demotion(options: Options) -> None:
    """Build, compare, race, and write table and samples; Raises UserError as the stages do."""
    trees = tree.apply_series(options)
    made = build_demotion(options, trees)
    folder = options.build / "replay" / "demotion-result"
    folder.mkdir(parents=True, exist_ok=True)
    text = check_copies(made)
    table, samples = run_races(made, [["race", str(GIB), str(ROUNDS)]], folder)
    samples["second_level_kib"] = int(CACHE.read_text().strip().removesuffix("K"))
    told = f"{format_groups(samples)}{format_verdict(samples)}"
    keep_samples(folder, "demotion", trees, f"{text}{table}\n{told}\n", samples)
    draw_copies(samples, folder / "demotion.png")
    say(f"table, raw samples and plot: {folder}")
    say(f"the program, which runs on any x86-64 Linux: {made}")
    print(told)


if __name__ == "__main__":
    run_stage(run_demotion)
