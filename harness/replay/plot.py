# SPDX-License-Identifier: GPL-2.0
"""Pictures of races: lines of medians, with what the processes, or rounds, span as bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.picture import COLOURS, INK, add_legend, open_figure
from harness.replay.samples import (
    Result,
    Samples,
    describe_runs,
    find_band,
    is_touched,
    list_runners,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOOKS: dict[str, dict[str, Any]] = {
    "base": {"linewidth": 2.5, "marker": "o"},
    "fallback": {"linewidth": 1.2, "marker": "o", "markersize": 3.5},
    "series": {"linewidth": 2.5, "marker": "o"},
    "peer": {"linewidth": 1.8, "marker": "s", "markersize": 4},
    "limit": {"linewidth": 1.2, "linestyle": "--"},
}
LABELS = {
    "fallback": "series, memcpy() fallback",
    "limit": "limit: bare MOVNTI fill of the same bytes",
}


def describe_race(samples: Samples) -> str:
    return f"{samples['cpu']}, {describe_runs(samples)}, {samples['date']}"


def draw_lines(axes: Axes, places: Sequence[int], results: Sequence[Result], what: str) -> None:
    names = list_runners(results[0], what)
    for name in (name for name in LOOKS if name in names):
        low, middle, high = zip(*(find_band(one, name, what) for one in results), strict=True)
        axes.fill_between(places, low, high, color=COLOURS[name], alpha=0.15, linewidth=0)
        axes.plot(places, middle, label=LABELS.get(name, name), color=COLOURS[name], **LOOKS[name])


def select_orders(samples: Samples) -> list[Result]:
    """Return the results of the device that was raced at most orders, by order."""
    whole = [
        result
        for result in samples["results"]
        if not result.get("deduplicated") and not is_touched(result)
    ]
    sizes = [result["device_gib"] for result in whole]
    size = max(set(sizes), key=sizes.count)
    return sorted(
        (result for result in whole if result["device_gib"] == size),
        key=lambda result: int(result["order"]),
    )


def draw_races(runs: Mapping[str, Samples], png: Path) -> None:
    """Draw a panel for each run, by its title, two of them in a row, all on one scale."""
    found = [select_orders(samples) for samples in runs.values()]
    columns = min(2, len(runs))
    title = (
        "memmap_init_zone_device() run in user space, "
        f"{found[0][0]['device_gib']} GiB device, less is better; bands: range of the processes"
    )
    panel, rows = (10 / columns, 5.2 / columns), -(-len(runs) // columns)
    with open_figure(png, title, panel, rows=rows, columns=columns, one_scale="all") as (
        figure,
        panels,
    ):
        flat = [axes for row in panels for axes in row]
        for axes, run, results in zip(flat, runs, found, strict=True):
            orders = [result["order"] for result in results]
            draw_lines(axes, orders, results, "samples")
            axes.set_title(run, fontsize=9, color=INK)
            axes.set_xticks(orders)
        for axes in panels[-1]:
            axes.set_xlabel("order: 0 = nd_pmem, 9 = 2 MiB, 18 = 1 GiB")
        for row in panels:
            row[0].set_ylabel("ns per struct page")
        add_legend(figure, flat[0])


def draw_race(samples: Samples, png: Path) -> None:
    draw_races({describe_race(samples): samples}, png)
