# SPDX-License-Identifier: GPL-2.0
"""What the programs measured: several processes, summarised by their medians and their range."""

import functools
import json
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.core import ROOT, UserError

RESULTS = ROOT / "results"
Result = dict[str, Any]
Samples = dict[str, Any]
Row = Sequence[str]
# Of the stack in a cache line: each round of the program memmap runs at the next one.
NR_PLACES = 8


@functools.cache
def read_samples(file: str) -> Samples:
    """Return the samples of a file of results/; Raises UserError if there are none."""
    path = RESULTS / f"{file}.json"
    try:
        samples: Samples = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise UserError(f"results/tables.toml names {file}, but: {error}") from None
    return samples


@dataclass(frozen=True)
class Record:
    """A file of results/, such as 2026-11-28-zen-4/memmap, as tables read it."""

    file: str

    def exists(self) -> bool:
        return (RESULTS / f"{self.file}.json").exists()

    def list_results(self) -> list[Result]:
        results: list[Result] = read_samples(self.file)["results"]
        return results

    def find(self, row: str, *, as_it_boots: bool = True) -> Result | None:
        """Return the result of a row, with returns as the CPU boots or with others, if any.

        The first results of a record are those of the CPU as it boots.
        """
        for result in (results := self.list_results()):
            same = result["returns"] == results[0]["returns"]
            if result.get("row") == row and same == as_it_boots:
                return result
        return None

    def need(self, row: str) -> Result:
        """Return the result of a row, with the CPU as it boots; Raises UserError without it."""
        if not (result := self.find(row)):
            raise UserError(f"results/{self.file}.json has no row {row}, which a table shows")
        return result


def format_ratios(ratios: Sequence[float]) -> str:
    """Return the median of the processes and their range; that of a single one is not known."""
    low, high = min(ratios), max(ratios)
    spread = f" ({low:.2f}-{high:.2f})" * (low != high)
    return f"{statistics.median(ratios):.2f}x{spread}"


def merge_runs(runs: Sequence[Sequence[Result]]) -> list[Result]:
    """Return each row with its processes; a row that some ran at another size is several rows."""
    merged = []
    for results_of_row in zip(*runs, strict=True):
        sizes = dict.fromkeys((run.get("row"), run.get("mib")) for run in results_of_row)
        for size in sizes:
            results = [run for run in results_of_row if (run.get("row"), run.get("mib")) == size]
            same = {
                key: value
                for key, value in results[0].items()
                if all(run[key] == value for run in results) and not isinstance(value, dict)
            }
            parts = [{key: run[key] for key in run if key not in same} for run in results]
            of = {"of": len(results_of_row)} if len(sizes) > 1 else {}
            merged.append(same | of | {"runs": parts})
    return merged


def tell_other_sizes(samples: Samples) -> str:
    """Return a line that names the rows that not all processes ran, or nothing."""
    some = [one for one in samples["results"] if "of" in one]
    names = (f"{one['row']} in {len(one['runs'])} of {one['of']}" for one in some)
    reason = "for lack of memory, processes ran a row at different sizes: "
    return f"{reason}{', '.join(names)}\n" if some else ""


def list_runners(result: Result, what: str = "samples") -> list[str]:
    return list(result["runs"][0][what])


def find_times(result: Result, runner: str, what: str = "samples") -> list[float]:
    """Return the median of each process."""
    return [statistics.median(run[what][runner]) for run in result["runs"]]


def find_time(result: Result, runner: str, what: str = "samples") -> float:
    """Return the median over processes."""
    return statistics.median(find_times(result, runner, what))


def find_ratios(result: Result, over: str, under: str, what: str = "samples") -> list[float]:
    """Return for each process the median of each round's ratio."""
    return [
        statistics.median(a / b for a, b in zip(run[what][over], run[what][under], strict=True))
        for run in result["runs"]
    ]


def find_ratio(result: Result, over: str, under: str, what: str = "samples") -> str:
    """Return the ratio over processes, as a text."""
    return format_ratios(find_ratios(result, over, under, what))


def find_places(result: Result, over: str, under: str) -> list[float]:
    """Return the median of the rounds' ratios at each place of the stack; none in older records."""
    ratios: dict[int, list[float]] = defaultdict(list)
    for run in result["runs"]:
        # What is the same in all processes stands in the result itself.
        first = (result | run).get("place")
        if first is None:
            return []
        pairs = zip(run["samples"][over], run["samples"][under], strict=True)
        for number, (a, b) in enumerate(pairs, first):
            ratios[number % NR_PLACES].append(a / b)
    return [statistics.median(ones) for ones in ratios.values()]


def format_places(result: Result, over: str, under: str) -> str:
    """Return the least and the most of the places, if they differ by more than a tenth."""
    places = find_places(result, over, under)
    if not places or max(places) <= 1.1 * min(places):
        return ""
    return f", by the stack {min(places):.2f}x to {max(places):.2f}x"


def find_mean(results: Sequence[Result], over: str, under: str, what: str = "samples") -> str:
    """Return the geometric mean of the ratio over results, over processes, as a text."""
    ratios = zip(*(find_ratios(result, over, under, what) for result in results), strict=True)
    return format_ratios([statistics.geometric_mean(one) for one in ratios])


def describe_runs(samples: Samples) -> str:
    runs = max((one["runs"] for one in samples["results"]), key=len)
    times = next(runs[0][key] for key in ("samples", "copy") if key in runs[0])
    rounds = len(next(iter(times.values())))
    if len(runs) == 1:
        return f"a single process, {rounds} rounds"
    return f"{len(runs)} processes, up to {rounds} rounds each"


def find_stolen(results: Sequence[Result]) -> float:
    """Return the largest share of the CPU time of a race that went to other guests."""
    # What is the same in all processes stands in the result itself.
    return max(float((result | run)["stolen"]) for result in results for run in result["runs"])


def align_rows(rows: Sequence[Row]) -> str:
    """Return a table: the first column to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for first, *cells in rows:
        aligned = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
        lines.append("  ".join(["", first.ljust(widths[0]), *aligned]).rstrip())
    return "".join(f"{line}\n" for line in lines)
