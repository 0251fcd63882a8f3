# SPDX-License-Identifier: GPL-2.0
"""What the replay programs measured: several processes, summarised by their medians and range.

What varies is less the round than the process and the host. So a race is several processes in
turn, each with its rounds.
"""

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from harness.core import ROOT

RESULTS = ROOT / "results"
Result = dict[str, Any]
Samples = dict[str, Any]


def format_ratios(ratios: Sequence[float]) -> str:
    """Return the median of the processes and their range; that of a single one is not known."""
    low, high = min(ratios), max(ratios)
    spread = f" ({low:.2f}-{high:.2f})" * (low != high)
    return f"{statistics.median(ratios):.2f}x{spread}"


def merge_runs(runs: Sequence[Sequence[Result]]) -> list[Result]:
    merged = []
    for results in zip(*runs, strict=True):
        same = {
            key: value
            for key, value in results[0].items()
            if all(one[key] == value for one in results) and not isinstance(value, dict)
        }
        parts = [{key: one[key] for key in one if key not in same} for one in results]
        merged.append(same | {"runs": parts})
    return merged


def pool_results(records: Sequence[Samples]) -> list[Result]:
    """Return the results of several records of one race as if their processes were of one."""
    runs: list[list[Result]] = []
    for record in records:
        # What is the same in all processes of a record stands in the result itself.
        split = [
            [{key: result[key] for key in result if key != "runs"} | run for run in result["runs"]]
            for result in record["results"]
        ]
        runs += [list(results) for results in zip(*split, strict=True)]
    return merge_runs(runs)


def list_runners(result: Result, what: str = "samples") -> list[str]:
    return list(result["runs"][0][what])


def is_touched(result: Result) -> bool:
    """Tell whether this is of a small memmap, which was written to once more at once."""
    return "touched" in result["runs"][0]


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


def find_mean(results: Sequence[Result], over: str, under: str, what: str = "samples") -> str:
    """Return the geometric mean of the ratio over results, over processes, as a text."""
    ratios = zip(*(find_ratios(result, over, under, what) for result in results), strict=True)
    return format_ratios([statistics.geometric_mean(one) for one in ratios])


def find_band(result: Result, runner: str, what: str = "samples") -> tuple[float, float, float]:
    times = find_times(result, runner, what)
    return min(times), statistics.median(times), max(times)


def describe_runs(samples: Samples) -> str:
    runs = samples["results"][0]["runs"]
    times = next(runs[0][key] for key in ("samples", "copy", "fill") if key in runs[0])
    rounds = len(next(iter(times.values())))
    if len(runs) == 1:
        return f"a single process, {rounds} rounds"
    return f"{len(runs)} processes, up to {rounds} rounds each"


def find_stolen(results: Sequence[Result]) -> float:
    """Return the largest share of the CPU time of a race that went to other guests."""
    # What is the same in all processes stands in the result itself.
    return max(float((result | run)["stolen"]) for result in results for run in result["runs"])


def format_gain(what: str, results: Sequence[Result]) -> str:
    """Return the last line of a replay: both ratios, their geometric means over results."""
    faster, over = find_mean(results, "base", "series"), find_mean(results, "series", "limit")
    return f"{what}: series is {faster} as fast as base, {over} the limit"


def format_races(name: Callable[[Result], str], samples: Samples) -> str:
    """Return a table: for each result and kernel the median time and both ratios.

    The ratios are base / kernel and kernel / limit, each with the range over processes.
    """
    rows: list[str] = []
    width = max(len(name(result)) for result in samples["results"])
    for result in samples["results"]:
        runners = list_runners(result)
        if not rows:
            rows.append(f"{'':{width}}" + "".join(f"{runner:>10}" for runner in runners))
            rows[0] += "".join(f"{f'base/{one}':>20}{f'{one}/limit':>20}" for one in runners[1:-1])
        times = "".join(f"{find_time(result, runner):10.2f}" for runner in runners)
        ratios = "".join(
            f"{find_ratio(result, 'base', one):>20}{find_ratio(result, one, 'limit'):>20}"
            for one in runners[1:-1]
        )
        rows.append(f"{name(result):{width}}{times}{ratios}")
    return "\n".join(rows) + "\n"
