# SPDX-License-Identifier: GPL-2.0
"""What all pictures share: a figure that becomes a file, its colours, its axes and its legend.

Only what draws needs matplotlib, so that `make config` and `make list` need no environment.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from harness.core.cache import replace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "base": "#8a8f98",
    "fallback": "#d08b2c",
    "series": "#1668b8",
    "peer": "#2e8b57",
    "limit": "#22262b",
}
INK = "#22262b"


@contextlib.contextmanager
def open_figure(
    png: Path,
    title: str,
    panel: tuple[float, float],
    *,
    rows: int = 1,
    columns: int = 1,
    one_scale: Literal["all", "row", "none"] = "row",
) -> Iterator[tuple[Figure, list[list[Axes]]]]:
    """Yield a figure and its rows of panels, and write it to png when the block succeeds.

    panel is the size of each panel in inches. The panels of a column have one scale of x, and
    one_scale says which panels have one scale of y.
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
        yield figure, panels.tolist()
        for axes in panels.flat:
            axes.set_ylim(bottom=0)
        with replace(png) as new:
            figure.savefig(new, dpi=130, format="png")
    finally:
        pyplot.close(figure)


def add_legend(figure: Figure, axes: Axes) -> None:
    """Put the legend of what axes shows below the panels, where it covers nothing."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, loc="outside lower center", ncols=len(labels))
