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
    raced = race.run_races(program, ["race 1", "race 2"], 3, tmp_path / "r")
    assert (tmp_path / "calls").read_text().split() == ["1", "2"] * 3
    times = [[run["samples"]["base"] for run in result["runs"]] for result in raced["results"]]
    assert times == [[[1]] * 3, [[2]] * 3]
    assert {(row["returns"], row["tree"]) for row in raced["results"]} == {("safe", "tree")}
    assert raced["cpu"] == "EPYC, family 25 model 1 stepping 1 (Zen 3)"
    assert not (tmp_path / "r/race.tmp").exists()
    race.run_races(program, ["race {process}"], 2, tmp_path / "r")
    assert (tmp_path / "calls").read_text().split()[-2:] == ["0", "1"]


def test_processes_that_were_complete_are_kept(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text(f"{PROGRAM}[ $2 -lt 2 ]\n")
    program.chmod(0o755)
    with pytest.raises(UserError, match="samples of 2 processes: "):
        race.run_races(program, ["race 1", "race {process}"], 3, tmp_path)
    unfinished = json.loads((tmp_path / "unfinished.json").read_text())
    assert [len(result["runs"]) for result in unfinished["results"]] == [2, 2]


def keep_record(
    monkeypatch: pytest.MonkeyPatch, results: Path, fail: Container[str] = (), stop: str = ""
) -> None:
    """Run make record where a race gives what a recorded one gave."""

    def run(options: Options, chosen: race.Race) -> samples.Samples:
        if chosen.name == stop:
            raise KeyboardInterrupt
        if chosen.name in fail:
            raise UserError("no memory")
        folder = chosen.locate(options)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{chosen.name}.json").touch()
        recorded: samples.Samples = RECORDED[chosen.name]
        return recorded

    monkeypatch.setattr(record, "run_race", run)
    record.run_record(read_options({"BUILD": f"{results}-build"}), results=results)


def test_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    keep_record(monkeypatch, results)
    [folder] = results.iterdir()
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first.endswith(f"races, each written to {folder} when it is done")
    assert last.endswith(f"ready to commit: {folder}")
    assert {path.stem for path in folder.iterdir()} == {*RECORDED, "README"}
    assert f"| CPU | {RECORDED['memmap']['cpu']} |" in (folder / "README.md").read_text()
    # A second run of that day, which keeps what did not fail.
    with pytest.raises(UserError, match=r"^copy, demotion failed .*: /.* has the others$"):
        keep_record(monkeypatch, results, ("copy", "demotion"))
    second = results / f"{folder.name}-2"
    assert {path.stem for path in second.glob("*.json")} == {"memmap"}
    assert (second / "README.md").read_text().endswith("\n\nThese failed: copy, demotion.\n")
    assert record.choose_folder(results, folder.name).name == f"{folder.name}-3"
    with pytest.raises(KeyboardInterrupt):
        keep_record(monkeypatch, tmp_path / "stopped", stop="demotion")
    files = {path.stem for path in (tmp_path / "stopped").glob("*/*.json")}
    assert files == {"memmap", "copy"}
    with pytest.raises(UserError, match="nothing was written$"):
        keep_record(monkeypatch, tmp_path / "none", RECORDED)


def test_record_of_another_machine(tmp_path: Path) -> None:
    facts = dict.fromkeys(("base", "series", "commit", "compiler", "because", "alternatives"), "x")
    facts |= {"config": "debian, 1", "date": "2026-11-26", "host_kernel": "6.12"}
    numbers = {"hypervisor": 0, "cpus": 64, "memory_gib": 512}
    times = {"base": [10.0], "series": [5.0], "bound": [5.0]}
    row = {"row": "deferred:16", "what": "deferred", "mib": 16384, "threads": 0}
    row |= {"written": 1 << 22, "samples": times, "stolen": 0.0}
    file = tmp_path / "memmap.json"
    file.write_text(json.dumps(MACHINE | TOLD | facts | numbers | {"results": [row]}))
    folder = record.add_foreign(file, tmp_path / "results")
    assert folder.name == "2026-11-26-zen-3"
    assert "64 CPUs, 512 GiB of memory, no virtual machine" in (folder / "README.md").read_text()
    assert "boot: deferred memory" in (folder / "memmap.txt").read_text()
    whole = json.loads(file.read_text())
    parts = [{key: whole[key] for key in whole if key != missing} for missing in whole]
    for content in ({}, whole | {"results": []}, whole | {"results": [{}]}, *parts):
        file.write_text(json.dumps(content))
        with pytest.raises(UserError, match=f"^FROM={file} is no file that the program memmap wr"):
            record.add_foreign(file, tmp_path / "results")
        assert len([*(tmp_path / "results").iterdir()]) == 1


def test_name_of_a_record() -> None:
    assert record.name_folder("EPYC, family 25 (Zen 4)", "debian", "D") == "D-zen-4"
    assert record.name_folder("EPYC, family 99", "default", "D") == "D-epyc-default"


def test_samples_are_kept_before_a_table_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> str:
        raise KeyError("mib")

    monkeypatch.setattr(race, "format_samples", fail)
    with pytest.raises(KeyError):
        race.keep_samples(tmp_path / "memmap", "memmap", "compared", RECORDED["memmap"])
    assert json.loads((tmp_path / "memmap/memmap.json").read_text()) == RECORDED["memmap"]


def test_rows_of_other_sizes_do_not_merge() -> None:
    times = {"base": [10.0], "series": [5.0], "bound": [5.0]}
    row = {"what": "online", "block_mib": 128, "threads": 0, "written": 1, "samples": times}
    row |= {"returns": "safe", "stolen": 0.0}
    runs = [[row | {"row": f"online:{gib}", "mib": gib << 10}] for gib in (16, 8, 16)]
    merged = samples.merge_runs(runs)
    assert [(one["row"], len(one["runs"])) for one in merged] == [("online:16", 2), ("online:8", 1)]
    facts = dict.fromkeys(("cpu", "because", "alternatives", "config"), "x")
    table = rows.format_samples(facts | {"results": merged})
    assert "ran a row at different sizes: online:16 in 2 of 3, online:8 in 1 of 3\n" in table
    assert " 8 GiB " in table and " 16 GiB " in table
    alike = rows.format_samples(facts | {"results": samples.merge_runs([runs[0], runs[0]])})
    assert "different sizes" not in alike


@pytest.mark.parametrize(("boots", "other"), [("plain", "jump"), ("safe", "plain")])
def test_row_of_a_cpu_as_it_boots(boots: str, other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain returns, too, can be those with which a CPU boots."""
    results = [{"row": "bind:64", "returns": returns} for returns in (boots, other)]
    monkeypatch.setattr(samples, "read_samples", lambda _: {"results": results})
    stored = samples.Record("x")
    assert stored.need("bind:64") == results[0]
    assert stored.find("bind:64", as_it_boots=False) == results[1]
