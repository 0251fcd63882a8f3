# SPDX-License-Identifier: GPL-2.0
"""The picture of fills: lines of medians by order, with what the processes span as bands."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.cache import replace
from report.samples import Result, find_times, list_runners

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK = "#22262b"
LOOKS: dict[str, dict[str, Any]] = {
    "base": {"color": "#8a8f98", "linewidth": 2.5, "marker": "o"},
    "fallback": {"color": "#d08b2c", "linewidth": 1.2, "marker": "o", "markersize": 3.5},
    "series": {"color": "#1668b8", "linewidth": 2.5, "marker": "o"},
    "peer": {"color": "#2e8b57", "linewidth": 1.8, "marker": "s", "markersize": 4},
    "bound": {"color": INK, "linewidth": 1.2, "linestyle": "--"},
}
LABELS = {
    "fallback": "series, memcpy() fallback",
    "bound": "bound: bare MOVNTI fill of the same bytes",
}


def select_orders(results: Sequence[Result]) -> list[Result]:
    """Return the fills of 16 GiB by one thread with their memmap on the device, by order."""
    whole = {"what": "fill", "mib": 16 << 10, "ram": 0, "threads": 0}
    orders = [one for one in results if all(one.get(key) == whole[key] for key in whole)]
    return sorted(orders, key=lambda one: int(one["order"]))


def make_figure(runs: Mapping[str, Sequence[Result]]) -> Figure:
    """Return a panel for each run, by its title, two of them in a row, all on one scale.

    The legend below them, where it covers nothing, is that of the first one.
    """
    from matplotlib.figure import Figure

    fills = [select_orders(results) for results in runs.values()]
    columns = min(2, len(runs))
    rows = -(-len(runs) // columns)
    figure = Figure(figsize=(10, 5.2 * rows / columns), layout="constrained")
    panels = figure.subplots(rows, columns, sharex="col", sharey=True, squeeze=False)
    figure.suptitle(
        "memmap_init_zone_device() run in user space, 16 GiB device, "
        "less is better; bands: range of the processes",
        fontsize=9,
        color=INK,
    )
    for axes in panels.flat[len(fills) :]:
        axes.remove()
    for axes, run, results in zip(panels.flat[: len(fills)], runs, fills, strict=True):
        axes.grid(axis="y", color="#e3e5e8")
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=INK)
        orders = [result["order"] for result in results]
        for name in (name for name in LOOKS if name in list_runners(results[0])):
            costs = [
                [time * 1e6 / one["written"] for time in find_times(one, name)] for one in results
            ]
            low, middle, high = (list(map(find, costs)) for find in (min, statistics.median, max))
            colour = LOOKS[name]["color"]
            axes.fill_between(orders, low, high, color=colour, alpha=0.15, linewidth=0)
            axes.plot(orders, middle, label=LABELS.get(name, name), **LOOKS[name])
        axes.set_title(run, fontsize=9, color=INK)
        axes.set_xticks(orders)
    panels[0][0].set_ylim(bottom=0)
    for axes in panels[-1]:
        axes.set_xlabel("order: 0 = fsdax, 9 = 2 MiB, 18 = 1 GiB")
    for row in panels:
        row[0].set_ylabel("ns per struct page")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, loc="outside lower center", ncols=len(labels))
    return figure


def draw_races(runs: Mapping[str, Sequence[Result]], png: Path) -> None:
    with replace(png) as new:
        make_figure(runs).savefig(new, dpi=130, format="png")
