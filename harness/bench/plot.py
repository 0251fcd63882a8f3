# SPDX-License-Identifier: GPL-2.0
"""The plot: base against series for each device, with a dot for each rebind and the mean."""

import random
import statistics
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from harness.bench.report import compute_change, load_samples, make_label, name_unit, select_values
from harness.core.cache import replace
from harness.vm.devices import DEVICES, Device

COLOURS = {"base": "#8a8f98", "series": "#1668b8"}
INK = "#22262b"


def draw_panel(axes: Axes, samples: dict[str, Any], device: Device) -> None:
    """Draw one device: a bar for the mean and a dot for each rebind, for both kernels.

    The memmap and the whole bind stand side by side.
    """
    scatter = random.Random(1)
    for group, kind in enumerate(("memmap", "bind")):
        means = {}
        for side, kernel in ((-0.21, "base"), (0.21, "series")):
            times = select_values(samples, kernel, device.name, kind)
            means[kernel] = statistics.fmean(times)
            axes.bar(group + side, means[kernel], 0.36, color=COLOURS[kernel], alpha=0.30, zorder=1)
            axes.hlines(
                means[kernel],
                group + side - 0.18,
                group + side + 0.18,
                color=COLOURS[kernel],
                linewidth=2.5,
                zorder=3,
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
                f"mean {means[kernel]:.0f}" + " ms" * (name_unit(samples) == "ms"),
                (group + side, max(times)),
                (0, 5),
                textcoords="offset points",
                ha="center",
                color=INK,
                fontsize=10,
            )
        axes.annotate(
            f"{compute_change(means['base'], means['series']):+.0f} %".replace(
                "-", "\N{MINUS SIGN}"
            ),
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
    axes.set_title(
        f"{device.driver} ({device.mode}, {device.align_mib} MiB)", fontsize=12, color=INK
    )
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(length=0, colors=INK)
    axes.grid(axis="y", color="#e3e5e8", zorder=0)
    axes.set_axisbelow(True)


def draw_bench(folder: Path) -> Path:
    """Write bench.png from the samples under folder and return its path."""
    samples = load_samples(folder)
    devices = [device for device in DEVICES if device.name in samples["pages"]]
    panels = len(devices)
    figure, axes = pyplot.subplots(
        1, panels, figsize=(5 * panels, 5.2), sharey=True, layout="constrained"
    )
    for one, device in zip(axes, devices, strict=True):
        draw_panel(one, samples, device)
    axes[0].set_ylabel(f"{name_unit(samples)}, less is better", color=INK)
    axes[0].set_ylim(bottom=0)
    handles = [
        Line2D(
            [],
            [],
            marker="o",
            linewidth=2.5,
            color=colour,
            label=f"{kernel}: dot = one rebind, line = mean",
        )
        for kernel, colour in COLOURS.items()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, fontsize=10)
    figure.suptitle(
        "What it takes to initialise the memmap of a ZONE_DEVICE range\n",
        fontsize=14,
        fontweight="bold",
        color=INK,
    )
    figure.text(
        0.5, 0.945, make_label(samples), ha="center", va="top", fontsize=8.5, color="#5a6068"
    )
    made = folder / "bench.png"
    with replace(made) as new:
        figure.savefig(new, dpi=130, format="png")
    pyplot.close(figure)
    return made
