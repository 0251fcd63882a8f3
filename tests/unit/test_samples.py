# SPDX-License-Identifier: GPL-2.0
"""Processes of a race: merged, summarised by their medians and range, run in turn, recorded."""

import json
from collections.abc import Container
from pathlib import Path
from typing import Any

import pytest

from harness.core import Options, UserError, read_options
from harness.link import race, record
from report import picture, rows, samples

# If the form of a record changes, take one that was made since.
RECORD = samples.RESULTS / rows.CPUS[rows.NEWEST]
RECORDED: dict[str, Any] = {
    one.name: json.loads((RECORD / f"{one.name}.json").read_text()) for one in race.RACES
}
# The medians of each round's ratio, over processes: 2, 3 and 4.
BASES = ([4.0, 4.0, 9.0], [6.0, 6.0, 1.0], [8.0, 8.0, 20.0])


def make_run(order: int, base: list[float]) -> dict[str, Any]:
    """Return what one process measured at an order."""
    times = {"base": base, "series": [2.0] * 3, "bound": [1.0] * 3}
    return {"order": order, "samples": times, "stolen": base[0] / 100}


MERGED = samples.merge_runs([[make_run(0, base), make_run(9, base)] for base in BASES])


def test_merged() -> None:
    assert [result["order"] for result in MERGED] == [0, 9]
    assert [one["samples"]["base"] for one in MERGED[1]["runs"]] == list(BASES)
    assert [one["stolen"] for one in MERGED[0]["runs"]] == [0.04, 0.06, 0.08]
    assert "order" not in MERGED[0]["runs"][0]


def test_median_and_range_are_over_processes() -> None:
    result = MERGED[0]
    assert samples.find_times(result, "base") == [4.0, 6.0, 8.0]
    assert samples.find_ratio(result, "base", "series") == "3.00x (2.00-4.00)"
    assert samples.find_mean(MERGED, "base", "series") == "3.00x (2.00-4.00)"
    assert samples.describe_runs({"results": MERGED}) == "3 processes, up to 3 rounds each"


def test_places_of_the_stack() -> None:
    """Place 3 takes twice as long, wherever a process begins; one round each is enough."""
    runs = []
    for first in (0, 5):
        slow = [2.0 if number % 8 == 3 else 1.0 for number in range(first, first + 8)]
        times = {"series": slow, "bound": [1.0] * 8}
        runs.append([{"place": first, "samples": times, "stolen": 0.0}])
    [result] = samples.merge_runs(runs)
    assert sorted(samples.find_places(result, "series", "bound")) == [*[1.0] * 7, 2.0]
    assert samples.format_places(result, "series", "bound") == ", by the stack 1.00x to 2.00x"
    assert samples.format_places(result, "bound", "bound") == ""
    assert samples.format_places(MERGED[0], "series", "bound") == ""


def test_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """8 GiB in 10 ms are 1.28 s per TiB, and 4.77 ns for each of 2 Mi struct pages."""
    times = {"base": [10.0], "series": [5.0], "bound": [5.0]}
    row = {"what": "online", "block_mib": 128, "mib": 8192, "threads": 0, "written": 1 << 21}
    row |= {"row": "online:8:b128", "returns": "safe", "samples": times}
    results = samples.merge_runs([[row]])
    monkeypatch.setattr(samples, "RESULTS", tmp_path)
    (tmp_path / "memmap.json").write_text(json.dumps({"results": results}))
    record = samples.Record("memmap")
    assert rows.tell_gain(record, "online:8:b128") == "1.3 -> 0.64 s: 2.0x"
    assert rows.tell_gain(record, "online:8") == "not run"
    assert rows.list_raced(results)[1][:4] == (
        *("bring system RAM online, blocks of 128 MiB", "8 GiB", "4.77", "2.38"),
    )


def test_picture_has_a_line_for_each_that_ran(tmp_path: Path) -> None:
    facts = {"a CPU": RECORDED["memmap"]["results"]}
    picture.draw_races(facts, tmp_path / "race.png")
    assert (tmp_path / "race.png").read_bytes().startswith(b"\x89PNG")
    figure = picture.make_figure(facts)
    figure.draw_without_rendering()
    [axes], [legend] = figure.axes, figure.legends
    assert len(axes.lines) == len(legend.get_texts()) == 4
    below = axes.get_tightbbox()
    assert below and legend.get_window_extent().y1 <= below.y0


# What a program says of its machine, and a race that tells its second word as the time.
MACHINE = {"vendor": "AuthenticAMD", "family": "25", "model": "1", "stepping": "1", "amx": 0}
TOLD = {"name": "EPYC", "returns": "safe", "unit": "ms", "series": "tree"}
PROGRAM = f"""#!/bin/sh
told='{json.dumps(MACHINE | TOLD)[:-1]}'
echo "$told, \\"results\\": [{{\\"order\\": 0, \\"samples\\": {{\\"base\\": [$2]}}}}]}}" >"$3"
echo $2 >>$(dirname "$0")/calls
"""


def test_races_run_in_turn(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    made = race.run_races(program, ["race 1", "race 2"], 3, tmp_path / "r")
    assert (tmp_path / "calls").read_text().split() == ["1", "2"] * 3
