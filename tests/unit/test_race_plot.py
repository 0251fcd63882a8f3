# SPDX-License-Identifier: GPL-2.0
"""The picture of the race: a line for each that ran, and a legend that covers none of them."""

from pathlib import Path

import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

from harness.replay import plot

NAMES = ["base", "series", "fallback", "peer", "limit"]


@pytest.mark.parametrize("names", [NAMES, [name for name in NAMES if name != "peer"]])
def test_legend_is_below(names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(pyplot, "close", drawn.append)
    results = [
        {"device_gib": 16, "order": order, "samples": {name: [1.0, 2.0, 3.0] for name in names}}
        for order in range(19)
    ]
    plot.draw_race({"cpu": "a CPU", "date": "today", "results": results}, tmp_path / "race.png")
    [figure] = drawn
    [axes] = figure.axes
    [legend] = figure.legends
    assert len(axes.lines) == len(names)
    assert {text.get_text().split(":")[0] for text in legend.get_texts()} == {
        plot.LABELS[name].split(":")[0] for name in names
    }
    box, whole = legend.get_window_extent(), figure.bbox
    tight = axes.get_tightbbox()
    assert tight
    assert box.y1 <= tight.y0
    assert whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0
