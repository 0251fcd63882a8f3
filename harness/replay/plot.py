# SPDX-License-Identifier: GPL-2.0
"""The picture of the race: time per page over the order, for the kernels and the limit."""

import statistics
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

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


def draw_race(samples: dict[str, Any], png: Path) -> None:
    """Draw the device that was raced at most orders: medians as lines, quartiles as bands."""
    whole = [result for result in samples["results"] if not result.get("deduplicated")]
    sizes = [result["device_gib"] for result in whole]
    size = max(set(sizes), key=sizes.count)
    results = sorted(
        (result for result in whole if result["device_gib"] == size),
        key=lambda result: result["order"],
    )
    orders = [result["order"] for result in results]
    figure, axes = pyplot.subplots(figsize=(10, 5.2), layout="constrained")
    for name, look in LOOKS.items():
        if name not in results[0]["samples"]:
            continue
        low, middle, high = zip(
            *(
                statistics.quantiles(result["samples"][name], n=4, method="inclusive")
                for result in results
            ),
            strict=True,
        )
        axes.fill_between(orders, low, high, color=look["color"], alpha=0.15, linewidth=0)
        axes.plot(orders, middle, label=LABELS[name], **look)
    axes.set_ylim(bottom=0)
    axes.set_xticks(orders)
    axes.set_xlabel("order of the compound pages: 0 = nd_pmem, 9 = 2 MiB, 18 = 1 GiB", color=INK)
    axes.set_ylabel("ns per struct page, less is better", color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(length=0, colors=INK)
    axes.grid(axis="y", color="#e3e5e8")
    axes.set_axisbelow(True)
    axes.set_title(
        "memmap_init_zone_device(): the kernel's own code, run natively\n",
        fontsize=14,
        fontweight="bold",
        color=INK,
    )
    rounds = len(results[0]["samples"]["base"])
    axes.text(
        0,
        1.02,
        f"{samples['cpu']}, {size} GiB device, {rounds} rounds, {samples['date']}; "
        "band = quartiles",
        transform=axes.transAxes,
        fontsize=9,
        color=INK,
    )
    # Below the axes, where it covers no line.
    figure.legend(frameon=False, loc="outside lower center", ncols=len(LOOKS))
    figure.savefig(png, dpi=130)
    pyplot.close(figure)
