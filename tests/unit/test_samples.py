# SPDX-License-Identifier: GPL-2.0
"""Processes of a race: merged, summarised by their medians and range, run in turn."""

import json
import shutil
from collections.abc import Container
from pathlib import Path
from typing import Any

import pytest

from harness.core import Options, UserError, read_options
from harness.replay import demotion, device, plot, record, run, samples

# If the form of a table changes, take a record that was made since.
RECORD = samples.RESULTS / "2026-11-25-zen-4"
# Whole binds were recorded by themselves.
BOUND = samples.RESULTS / "2026-11-25-zen-4-bind"
BOOTED = samples.RESULTS / "2026-11-25-zen-4-native"
REPLAYS = [replay for replay in record.REPLAYS if replay.name != "bind"]
RECORDED: dict[str, Any] = {
    replay.name: json.loads((RECORD / f"{replay.name}.json").read_text()) for replay in REPLAYS
}
# The medians of each round's ratio, over processes: 2, 3 and 4.
BASES = ([4.0, 4.0, 9.0], [6.0, 6.0, 1.0], [8.0, 8.0, 20.0])


def make_run(order: int, base: list[float]) -> dict[str, Any]:
    """Return what one process measured at an order."""
    times = {"base": base, "series": [2.0] * 3, "limit": [1.0] * 3}
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
    assert samples.find_band(result, "base") == (4.0, 6.0, 8.0)
    assert samples.find_mean(MERGED, "base", "series") == "3.00x (2.00-4.00)"
    assert samples.describe_runs({"results": MERGED}) == "3 processes, up to 3 rounds each"


def test_single_process() -> None:
    [result] = samples.merge_runs([[make_run(0, BASES[0])]])
    assert samples.find_ratio(result, "base", "series") == "2.00x"
    assert samples.describe_runs({"results": [result]}) == "a single process, 3 rounds"


@pytest.mark.parametrize("replay", record.REPLAYS, ids=lambda replay: replay.name)
def test_text_of_a_record(replay: run.Replay) -> None:
    """It has the table and the last line that its samples give, but for spaces."""
    folder = RECORD if replay in REPLAYS else BOUND
    text = (folder / f"{replay.name}.txt").read_text()
    found = json.loads((folder / f"{replay.name}.json").read_text())
    assert "".join(replay.format_table(found).split()) in "".join(text.split())
    assert text.endswith(f"\n{replay.format_verdict(found)}\n")


def test_picture_has_a_line_for_each_that_ran(tmp_path: Path) -> None:
    """Small memmaps are not in it."""
    facts = RECORDED["replay"]
    plot.draw_race(facts, tmp_path / "race.png")
    assert (tmp_path / "race.png").read_bytes().startswith(b"\x89PNG")
    figure = plot.make_figure({"a CPU": facts})
    figure.draw_without_rendering()
    [axes], [legend] = figure.axes, figure.legends
    assert len(axes.lines) == len(legend.get_texts()) == 4
    below = axes.get_tightbbox()
    assert below and legend.get_window_extent().y1 <= below.y0


def test_cache_that_the_system_does_not_tell(tmp_path: Path) -> None:
    (tmp_path / "size").write_text("1024K\n")
    assert run.read_cache(tmp_path / "size") == 1024
    none = {"second_level_kib": run.read_cache(tmp_path / "none")}
    told = demotion.format_table(RECORDED["demotion"] | none)
    assert "unknown KiB" in told and "larger" in told and "fits" not in told


# A program that races, and tells its second word as the time.
PROGRAM = """#!/bin/sh
echo '{"unit": "ns", "results": [{"order": 0, "samples": {"base": ['$2']}}]}' >"$3"
echo $2 >>$(dirname "$0")/calls
"""


def test_races_run_in_turn(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    made = run.run_races(program, [["race", "1"], ["race", "2"]], 3, tmp_path / "r")
    assert (tmp_path / "calls").read_text().split() == ["1", "2"] * 3
    found = [[one["samples"]["base"] for one in result["runs"]] for result in made["results"]]
    assert found == [[[1]] * 3, [[2]] * 3]
    assert made["unit"] == "ns"
    assert not (tmp_path / "r/race.tmp").exists()


def keep_record(
    monkeypatch: pytest.MonkeyPatch, results: Path, fail: Container[str] = (), stop: str = ""
) -> None:
    """Run make record where a replay gives what one of Zen 4 gave."""

    def race(options: Options, replay: run.Replay) -> samples.Samples:
        if replay.name == stop:
            raise KeyboardInterrupt
        if replay.name in fail:
            raise UserError("no memory")
        folder = replay.locate(options)
        folder.mkdir(parents=True, exist_ok=True)
        for file in RECORD.glob(f"{replay.name}.*"):
            shutil.copy(file, folder)
        found: samples.Samples = RECORDED[replay.name]
        return found

    monkeypatch.setattr(record, "run_replay", race)
    monkeypatch.setattr(record, "find_kvm", lambda _: ("tcg", "no KVM"))
    options = read_options({"BUILD": f"{results}-build"})
    record.run_record(options, REPLAYS, results)


def test_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    keep_record(monkeypatch, results)
    [made] = results.iterdir()
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first.endswith(f"replays, each written to {made} when it is done")
    assert last.endswith(f"ready to commit: {made}")
    assert {path.name for path in made.iterdir()} == {path.name for path in RECORD.iterdir()}
    assert (made / "README.md").read_text() == (RECORD / "README.md").read_text()
    # A second run of that day.
    keep_record(monkeypatch, results)
    assert (results / f"{made.name}-2/README.md").exists()
    assert record.choose_folder(results, made.name).name == f"{made.name}-3"


def test_record_with_boots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kept, made in {"bench.json": "samples.json", "bench.txt": "table.txt"}.items():
        shutil.copy(BOOTED / kept, tmp_path / made)
    monkeypatch.setattr(record, "run_bench", lambda _: tmp_path)
    record.add_bench(read_options({}), tmp_path)
    assert (tmp_path / "bench.txt").read_text() == (BOOTED / "bench.txt").read_text()
    assert "`make bench`, 100 GiB, x86_64 kernel" in (tmp_path / "README.md").read_text()


def test_record_keeps_what_did_not_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = tmp_path / "results"
    with pytest.raises(UserError, match=r"^boot, copy failed .*: /.* has the others$"):
        keep_record(monkeypatch, results, ("boot", "copy"))
    [made] = results.iterdir()
    assert {path.stem for path in made.glob("*.json")} == {*RECORDED} - {"boot", "copy"}
    assert (made / "README.md").read_text().endswith("\n\nThese failed: boot, copy.\n")
    with pytest.raises(KeyboardInterrupt):
        keep_record(monkeypatch, tmp_path / "stopped", stop="online")
    found = {path.stem for path in (tmp_path / "stopped").glob("*/*.json")}
    assert found == {"replay", "boot"}
    with pytest.raises(UserError, match="nothing was written$"):
        keep_record(monkeypatch, tmp_path / "none", RECORDED)


def test_name_of_a_record() -> None:
    cpu, date = RECORDED["replay"]["cpu"], RECORDED["replay"]["date"]
    assert record.name_folder(cpu, "debian", date) == RECORD.name
    assert record.name_folder(cpu, "default", date) == f"{RECORD.name}-default"


def test_configuration_that_a_replay_lacks() -> None:
    with pytest.raises(UserError, match="^CONFIG=arm64 must be one of debian, default, pointer, "):
        run.run_replay(read_options({"CONFIG": "arm64"}), device.DEVICE)
