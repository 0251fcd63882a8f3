# SPDX-License-Identifier: GPL-2.0
"""The plot: base against series for each device, with a dot for each rebind and the mean."""

from __future__ import annotations

import functools
import random
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.bench.report import compute_change, make_label, name_unit, select_values
from harness.core.picture import COLOURS, INK, add_legend, open_figure
from harness.vm.devices import DEVICES, Device

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_panel(axes: Axes, samples: dict[str, Any], device: Device) -> None:
    """Draw one device: bars of means, dots of rebinds, by kernel, for memmap and whole bind."""
    scatter = random.Random(1)
    write = functools.partial(axes.annotate, textcoords="offset points", ha="center")
    for group, kind in enumerate(("memmap", "bind")):
        means = {}
        for side, kernel in ((-0.21, "base"), (0.21, "series")):
            times = select_values(samples, kernel, device.name, kind)
            means[kernel] = statistics.fmean(times)
            axes.bar(group + side, means[kernel], 0.36, color=COLOURS[kernel], alpha=0.30, zorder=1)
            begin, end = group + side - 0.18, group + side + 0.18
            axes.hlines(means[kernel], begin, end, color=COLOURS[kernel], linewidth=2.5, zorder=3)
            axes.scatter(
                [group + side + scatter.uniform(-0.13, 0.13) for _ in times],
                times,
                s=11,
                color=COLOURS[kernel],
                linewidths=0,
                alpha=0.75,
                zorder=2,
                label=f"{kernel}: dot = one rebind, line = mean" if group == 0 else None,
            )
            mean = f"mean {means[kernel]:.0f}" + " ms" * (name_unit(samples) == "ms")
            write(mean, (group + side, max(times)), (0, 5), color=INK, fontsize=10)
        change = f"{compute_change(*means.values()):+.0f} %".replace("-", "\N{MINUS SIGN}")
        place = (group + 0.21, 0), (0, 10)
        write(change, *place, color=COLOURS["series"], fontsize=15, fontweight="bold", zorder=4)
    axes.set_xticks((0, 1), ("memmap initialisation", "whole bind"))
    axes.set_title(
        f"{device.driver} ({device.mode}, {device.align_mib} MiB)", fontsize=12, color=INK
    )


def draw_bench(samples: dict[str, Any], made: Path) -> None:
    """Draw all devices of the samples."""
    devices = [device for device in DEVICES if device.name in samples["pages"]]
    title = "What it takes to initialise the memmap of a ZONE_DEVICE range\n" + make_label(samples)
    with open_figure(made, title, (5, 5.2), columns=len(devices)) as (figure, [panels]):
        for axes, device in zip(panels, devices, strict=True):
            draw_panel(axes, samples, device)
        panels[0].set_ylabel(f"{name_unit(samples)}, less is better", color=INK)
        add_legend(figure, panels[0])
