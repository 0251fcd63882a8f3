# SPDX-License-Identifier: GPL-2.0
"""Pictures of races: lines of medians, with what the processes, or rounds, span as bands."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

from harness.replay.samples import Result, Samples, describe_runs, find_band, list_runners

LOOKS: dict[str, dict[str, Any]] = {
    "base": {"color": "#8a8f98", "linewidth": 2.5, "marker": "o"},
    "fallback": {"color": "#d08b2c", "linewidth": 1.2, "marker": "o", "markersize": 3.5},
    "series": {"color": "#1668b8", "linewidth": 2.5, "marker": "o"},
    "peer": {"color": "#2e8b57", "linewidth": 1.8, "marker": "s", "markersize": 4},
    "limit": {"color": "#22262b", "linewidth": 1.2, "linestyle": "--"},
}
LABELS = {
    "base": "base",
    "fallback": "series, memcpy() fallback",
    "series": "series",
    "peer": "peer",
    "limit": "limit: bare MOVNTI fill of the same bytes",
}
INK = "#22262b"


@contextlib.contextmanager
def open_figure(
    png: Path, samples: Samples, *, rows: int = 1, columns: int = 1, title: str = ""
) -> Iterator[tuple[Any, Any]]:
    """Yield a figure and its panels, and write it to png."""
    size = (5 * columns, 3.5 * rows) if rows * columns > 1 else (10, 5.2)
    figure, panels = pyplot.subplots(
        rows, columns, figsize=size, sharex=True, squeeze=False, layout="constrained"
    )
    told = f"{samples['cpu']}, {describe_runs(samples)}, {samples['date']}"
    figure.suptitle(f"{title}\n{told}" if title else told, fontsize=9, color=INK)
    yield figure, panels
    figure.savefig(png, dpi=130)
    pyplot.close(figure)


def draw_lines(axes: Any, places: Sequence[int], results: Sequence[Result], what: str) -> None:
    """Draw a line for each that ran, and its band."""
    names = list_runners(results[0], what)
    for name in (name for name in LOOKS if name in names):
        low, middle, high = zip(*(find_band(one, name, what) for one in results), strict=True)
        axes.fill_between(places, low, high, color=LOOKS[name]["color"], alpha=0.15, linewidth=0)
        axes.plot(places, middle, label=LABELS[name], **LOOKS[name])
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", color="#e3e5e8")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def add_legend(figure: Any, axes: Any) -> None:
    """Put the legend below the panels, where it covers no line."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, loc="outside lower center", ncols=len(LOOKS))


def draw_race(samples: Samples, png: Path) -> None:
    """Draw the device that was raced at most orders."""
    whole = [result for result in samples["results"] if not result.get("deduplicated")]
    sizes = [result["device_gib"] for result in whole]
    size = max(set(sizes), key=sizes.count)
    results = sorted(
        (result for result in whole if result["device_gib"] == size),
        key=lambda result: int(result["order"]),
    )
    orders = [result["order"] for result in results]
    title = f"memmap_init_zone_device(): the kernel's own code, run natively, {size} GiB device"
    with open_figure(png, samples, title=title) as (figure, [[axes]]):
        draw_lines(axes, orders, results, "samples")
        axes.set_xticks(orders)
        axes.set_xlabel("order of the compound pages: 0 = nd_pmem, 9 = 2 MiB, 18 = 1 GiB")
        axes.set_ylabel("ns per struct page, less is better")
        add_legend(figure, axes)
