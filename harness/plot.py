# SPDX-License-Identifier: GPL-2.0
"""The picture: every rebind as a dot beside its mean, base against series, for both drivers."""

import os
import random
import statistics
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402

from harness.console import DRIVERS  # noqa: E402
from harness.options import read  # noqa: E402
from harness.process import main  # noqa: E402
from harness.report import change, label, load, unit, values  # noqa: E402

COLOURS = {"base": "#8a8f98", "series": "#1668b8"}
INK = "#22262b"


def panel(axes: Axes, samples: dict[str, Any], driver: str) -> None:
    """Draw one driver: for memmap and whole bind, a bar and a dot for each rebind, of each kernel."""
    scatter = random.Random(1)
    for group, kind in enumerate(("memmap", "bind")):
        means = {}
        for side, kernel in ((-0.21, "base"), (0.21, "series")):
            times = values(samples, kernel, driver, kind)
            means[kernel] = statistics.fmean(times)
            axes.bar(group + side, means[kernel], 0.36, color=COLOURS[kernel], alpha=0.30, zorder=1)
            axes.hlines(
                means[kernel], group + side - 0.18, group + side + 0.18, color=COLOURS[kernel], linewidth=2.5, zorder=3
            )
            axes.scatter(
                [group + side + scatter.uniform(-0.13, 0.13) for _ in times],
                times,
                s=11,
                color=COLOURS[kernel],
                linewidths=0,
                alpha=0.75,
                zorder=2,
            )
            axes.annotate(
                f"mean {means[kernel]:.0f}" + " ms" * (unit(samples) == "ms"),
                (group + side, max(times)),
                (0, 5),
                textcoords="offset points",
                ha="center",
                color=INK,
                fontsize=10,
            )
        axes.annotate(
            f"{change(means['base'], means['series']):+.0f} %".replace("-", "\N{MINUS SIGN}"),
            (group + 0.21, 0),
            (0, 10),
            textcoords="offset points",
            ha="center",
            color=COLOURS["series"],
            fontsize=15,
            fontweight="bold",
            zorder=4,
        )
    axes.set_xticks((0, 1), ("memmap initialisation", "whole bind"))
    axes.set_title(f"{driver} ({'fsdax' if driver == 'nd_pmem' else 'devdax, 2 MiB'})", fontsize=12, color=INK)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(length=0, colors=INK)
    axes.grid(axis="y", color="#e3e5e8", zorder=0)
    axes.set_axisbelow(True)


def plot(home: Path) -> Path:
    """Write bench.png from the samples under home and return its path; Raises Fault if there are none."""
    samples = load(home)
    figure, both = pyplot.subplots(1, 2, figsize=(10, 5.2), sharey=True, layout="constrained")
    for axes, driver in zip(both, DRIVERS, strict=True):
        panel(axes, samples, driver)
    both[0].set_ylabel(f"{unit(samples)}, less is better", color=INK)
    both[0].set_ylim(bottom=0)
    handles = [
        pyplot.Line2D([], [], marker="o", linewidth=2.5, color=colour, label=f"{kernel}: dot = one rebind, line = mean")
        for kernel, colour in COLOURS.items()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, fontsize=10)
    figure.suptitle("What it takes to initialise the memmap of a ZONE_DEVICE range\n", fontsize=14, fontweight="bold", color=INK)
    figure.text(0.5, 0.945, label(samples), ha="center", va="top", fontsize=8.5, color="#5a6068")
    new = home / "bench.tmp.png"
    figure.savefig(new, dpi=130)
    pyplot.close(figure)
    return new.rename(home / "bench.png")


if __name__ == "__main__":
    main(lambda: print(plot(read(os.environ).bench)))
