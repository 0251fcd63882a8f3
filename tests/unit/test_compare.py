# SPDX-License-Identifier: GPL-2.0
"""The table and the plot of the races in results/."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.core import errors
from harness.replay import compare


def make_samples(cpu: str, date: str, base: float) -> dict[str, Any]:
    """Return the content of a replay.json: two orders, and a device of another size."""
    samples = {"base": [base, 9.0, 9.5], "series": [3.0, 3.0, 2.5], "limit": [3.0, 2.0, 2.5]}
    races = [
        {"device_gib": gib, "order": order, "deduplicated": gib > 16 < order, "samples": samples}
        for gib, order in ((100, 9), (100, 18), (16, 9))
    ]
    return {"cpu": cpu, "date": date, "results": races}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two runs on one CPU, of which the later comes first by name, and one on another CPU."""
    runs = (
        ("a", "Z", "2026-02-01", 8.0),
        ("b", "Z", "2026-01-01", 7.0),
        ("c", "A", "2026-03-01", 6.0),
    )
    for name, cpu, date, base in runs:
        (tmp_path / name).mkdir()
        (tmp_path / name / "replay.json").write_text(json.dumps(make_samples(cpu, date, base)))
    return tmp_path


def test_table_is_by_cpu_and_date(results: Path) -> None:
    runs = compare.load_runs(results)
    assert [run.name for run in runs] == ["c", "b", "a"]
    lines = compare.format_runs(runs).splitlines()
    assert [line for line in lines if line in ("A", "Z")] == ["A", "Z"]
    # Medians, and medians of each round's ratio: 3.00, 3.80 and 8/3; 1.00, 1.50 and 1.00.
    assert lines[-2].split() == ["9", "9.00", "3.00", "2.50", "3.00x", "1.00x"]
    assert lines[-1].split()[0] == "18d"


def test_last_run_of_a_cpu(results: Path) -> None:
    runs = compare.load_runs(results)
    last = compare.find_last(runs, "Z")
    assert last
    assert last.name == "a"
    assert compare.find_last(runs, "another") is None
    text = compare.format_beside(last, make_samples("Z", "today", 9.5))
    assert text.splitlines()[-2].split() == ["9", "9.50", "9.00", "3.00", "3.00", "3.17x", "3.00x"]


def test_picture(results: Path, tmp_path: Path) -> None:
    compare.draw_runs(compare.load_runs(results), tmp_path / "made.png")
    assert (tmp_path / "made.png").read_bytes().startswith(b"\x89PNG")


def test_no_results(tmp_path: Path) -> None:
    with pytest.raises(errors.UserError, match="holds no replay.json of a 100 GiB device: copy"):
        compare.load_runs(tmp_path)


def test_every_kept_run_is_readable() -> None:
    assert len(compare.load_runs()) >= 3
