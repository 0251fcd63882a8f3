# SPDX-License-Identifier: GPL-2.0
"""`make compare`: the races kept in results/, by CPU, as one table and one picture."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.core.cache import replace
from harness.core.errors import UserError
from harness.core.folders import ROOT
from harness.core.options import Options
from harness.core.picture import COLOURS, INK, add_legend, open_figure
from harness.core.progress import say
from harness.core.stages import run_stage
from harness.replay.samples import Result, Samples, describe_runs, find_ratio, find_time

RESULTS = ROOT / "results"
# The device size at which every run raced the orders of the two drivers.
DEVICE_GIB = 100
BAR_OFFSETS = {"base": -0.2, "series": 0.2}


@dataclass(frozen=True)
class Run:
    """One replay.json: the folder that it lies in, and its content."""

    name: str
    samples: Samples

    @property
    def cpu(self) -> str:
        """Name the CPU."""
        return str(self.samples["cpu"])

    def races(self) -> dict[str, Result]:
        """Return the results of DEVICE_GIB by order; "9d" is order 9, deduplicated."""
        return {
            f"{race['order']}{'d' * bool(race.get('deduplicated'))}": race
            for race in self.samples["results"]
            if race["device_gib"] == DEVICE_GIB
        }


def load_runs(results: Path = RESULTS) -> list[Run]:
    """Return the runs below results, those of one CPU together and the latest of them last.

    Raises UserError when there is none.
    """
    found = [
        run
        for file in sorted(results.glob("*/replay.json"))
        if (run := Run(file.parent.name, json.loads(file.read_text()))).races()
    ]
    if not found:
        raise UserError(
            f"{results} holds no replay.json of a {DEVICE_GIB} GiB device: "
            "copy that of a 'make replay' there"
        )
    return sorted(found, key=lambda run: (run.cpu, run.samples["date"], run.name))


def find_last(runs: Sequence[Run], cpu: str) -> Run | None:
    """Return the latest run on a CPU, None if there is none."""
    return next((run for run in reversed(runs) if run.cpu == cpu), None)


def format_runs(runs: Sequence[Run]) -> str:
    """Return the table: each run's medians in ns per struct page and its ratios, by order."""
    rows = [f"ns per struct page, {DEVICE_GIB} GiB device; d is deduplicated, fill a MOVNTI fill"]
    cpu = ""
    for run in runs:
        if run.cpu != cpu:
            cpu = run.cpu
            rows += ["", cpu]
        rows.append(f"  {run.name}, {describe_runs(run.samples)}")
        rows.append(
            f"    {'order':>5}{'base':>8}{'series':>8}{'fill':>8}"
            f"{'base/series':>20}{'series/fill':>20}"
        )
        for order, race in run.races().items():
            times = "".join(f"{find_time(race, one):8.2f}" for one in ("base", "series", "limit"))
            speedup = find_ratio(race, "base", "series")
            above_fill = find_ratio(race, "series", "limit")
            rows.append(f"    {order:>5}{times}{speedup!s:>20}{above_fill!s:>20}")
    return "\n".join(rows) + "\n"


def format_beside(last: Run, samples: Samples) -> str:
    """Return the last run's figures of the same CPU beside those of a new run."""
    rows = [f"beside results/{last.name}, the last run on this CPU, {DEVICE_GIB} GiB device:"]
    rows.append(
        f"{'order':>5}{'base':>8}{'then':>8}{'series':>8}{'then':>8}{'base/series':>20}{'then':>20}"
    )
    then = last.races()
    for order, race in Run("", samples).races().items():
        if order in then:
            columns = [
                f"{find_time(one, name):8.2f}"
                for name in ("base", "series")
                for one in (race, then[order])
            ]
            now, before = (find_ratio(one, "base", "series") for one in (race, then[order]))
            rows.append(f"{order:>5}{''.join(columns)}{now!s:>20}{before!s:>20}")
    return "\n".join(rows) + "\n"


def draw_runs(runs: Sequence[Run], png: Path) -> None:
    """Draw one panel for each run: base, series and fill at each order."""
    with open_figure(png, "", (4.2, 4.8), columns=len(runs)) as (figure, [panels]):
        for axes, run in zip(panels, runs, strict=True):
            races = run.races()
            for name, side in BAR_OFFSETS.items():
                heights = [find_time(race, name) for race in races.values()]
                places = [place + side for place in range(len(races))]
                axes.bar(places, heights, 0.36, color=COLOURS[name], label=name)
            fills = [find_time(race, "limit") for race in races.values()]
            begins, ends = ([place + side for place in range(len(races))] for side in (-0.4, 0.4))
            axes.hlines(fills, begins, ends, color=INK, linestyle="--", label="bare MOVNTI fill")
            axes.set_xticks(range(len(races)), list(races))
            axes.set_xlabel("order", color=INK)
            cpu = run.cpu.replace(", ", "\n", 1).replace(" (", "\n(", 1)
            axes.set_title(f"{run.name}\n{cpu}", fontsize=8, color=INK)
        panels[0].set_ylabel(f"ns per struct page, {DEVICE_GIB} GiB", color=INK)
        add_legend(figure, panels[0])


def run_compare(options: Options) -> None:
    """Print the table over results/ and write it and the picture to build/compare."""
    runs = load_runs()
    folder = options.build / "compare"
    text = format_runs(runs)
    print(text)
    with replace(folder / "compare.txt") as new:
        new.write_text(text)
    draw_runs(runs, folder / "compare.png")
    say(f"table and picture: {folder}")


if __name__ == "__main__":
    run_stage(run_compare)
