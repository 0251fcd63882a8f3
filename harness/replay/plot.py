# SPDX-License-Identifier: GPL-2.0
"""Pictures of races: lines of medians, with what the processes, or rounds, span as bands.

Only what draws needs matplotlib, so that `make config` and `make list` need no environment.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.core.cache import replace
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

INK = "#22262b"
LOOKS: dict[str, dict[str, Any]] = {
    "base": {"color": "#8a8f98", "linewidth": 2.5, "marker": "o"},
    "fallback": {"color": "#d08b2c", "linewidth": 1.2, "marker": "o", "markersize": 3.5},
    "series": {"color": "#1668b8", "linewidth": 2.5, "marker": "o"},
    "peer": {"color": "#2e8b57", "linewidth": 1.8, "marker": "s", "markersize": 4},
    "limit": {"color": INK, "linewidth": 1.2, "linestyle": "--"},
}
LABELS = {
    "fallback": "series, memcpy() fallback",
    "limit": "limit: bare MOVNTI fill of the same bytes",
}


@contextlib.contextmanager
def open_figure(
    png: Path,
    title: str,
    panel: tuple[float, float],
    rows: int,
    columns: int,
    *,
    one_scale: bool,
) -> Iterator[list[list[Axes]]]:
    """Yield the rows of panels of a figure, and write it to png when the block succeeds.

    panel is the size of each panel in inches. The panels of a column have one scale of x, and
    one_scale says whether all have one of y. The legend below them, where it covers nothing, is
    that of the first one.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(
        rows,
        columns,
        figsize=(panel[0] * columns, panel[1] * rows),
        sharex="col",
        sharey=one_scale,
        squeeze=False,
        layout="constrained",
    )
    figure.suptitle(title, fontsize=9, color=INK)
    for axes in panels.flat:
        axes.grid(axis="y", color="#e3e5e8")
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=INK)
    try:
        yield panels.tolist()
        for axes in panels.flat:
            axes.set_ylim(bottom=0)
        handles, labels = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, frameon=False, loc="outside lower center", ncols=len(labels))
        with replace(png) as new:
            figure.savefig(new, dpi=130, format="png")
    finally:
        pyplot.close(figure)


def describe_race(samples: Samples) -> str:
    return f"{samples['cpu']}, {describe_runs(samples)}, {samples['date']}"


def draw_lines(axes: Axes, places: Sequence[int], results: Sequence[Result], what: str) -> None:
    names = list_runners(results[0], what)
    for name in (name for name in LOOKS if name in names):
        low, middle, high = zip(*(find_band(one, name, what) for one in results), strict=True)
        colour = LOOKS[name]["color"]
        axes.fill_between(places, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.plot(places, middle, label=LABELS.get(name, name), **LOOKS[name])


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
    with open_figure(png, title, panel, rows, columns, one_scale=True) as panels:
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


def draw_race(samples: Samples, png: Path) -> None:
    draw_races({describe_race(samples): samples}, png)
