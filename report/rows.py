# SPDX-License-Identifier: GPL-2.0
"""Rows of the program memmap, such as bind:64:o9:ram: their words, and the figures of tables.

What rows there are is said in replay/memmap/whats.h, and which record a table shows in
results/tables.toml.
"""

import re
import statistics
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from harness.core import ROOT
from report.samples import (
    RESULTS,
    Record,
    Result,
    Row,
    Samples,
    align_rows,
    describe_runs,
    find_ratio,
    find_ratios,
    find_stolen,
    find_time,
    format_places,
    list_runners,
    tell_other_sizes,
)

SHOWN = tomllib.loads((RESULTS / "tables.toml").read_text())
CPUS: dict[str, str] = SHOWN["cpus"]
NEWEST: str = SHOWN["newest"]
# Who has reserved memory. CMA's is then activated, and KHO's is of huge pages.
OWNERS = {"memblock": "", "CMA": ", of CMA", "KHO": ", preserved by KHO"}
DEVICES = {0: "fsdax", 9: "device-dax, 2 MiB", 18: "device-dax, 1 GiB"}
PARTS = ("map", "fill", "unmap")
# Binds of which the parts are shown, by name.
BINDS = {
    "order 0, on device": "bind:64",
    "order 0, in RAM": "bind:64:ram",
    "2 MiB, in RAM": "bind:64:o9:ram",
    "1 GiB, in RAM": "bind:64:o18:ram",
}


class What(NamedTuple):
    """What rows of a kind run, as in whats.h; unit is that of docs/results.md: "s" or "ns"."""

    name: str
    words: str
    unit: str
    runs: str
    lacks: str


def read_whats() -> dict[str, What]:
    text = (ROOT / "replay/memmap/whats.h").read_text()
    entries = re.findall(r"^WHAT\(\w+,(.*?)\)$", text, re.M | re.S)
    whats = (What(*re.findall(r'"([^"]*)"', entry)) for entry in entries)
    return {what.name: what for what in whats}


WHATS = read_whats()


def locate(cpu: str, kind: str = "memmap") -> Record:
    """Return the newest record of a CPU."""
    return Record(f"{CPUS[cpu]}/{kind}")


def locate_file(name: str, patch: int | None = None) -> Record:
    """Return what tables.toml names as a file, or as those of a topic's patches."""
    return Record(SHOWN["files"][name] + (f"-{patch}" if patch is not None else ""))


def name_size(result: Result) -> str:
    mib = result["mib"]
    return f"{mib} MiB" if mib % 1024 else f"{mib >> 10} GiB"


def name_what(result: Result) -> str:
    """Return what runs, in the words of who waits for it, as describe_row() of rows.c does."""
    words = WHATS[result["what"]].words + OWNERS[result.get("owner", "memblock")]
    if "block_mib" in result:
        words += f", blocks of {result['block_mib']} MiB{', half used' * result.get('used', 0)}"
        words += ", behind a gap" * result.get("gap", 0)
    if "order" in result:
        order = int(result["order"])
        words += f": {DEVICES.get(order, f'order {order}')}"
        words += f", memmap {'in RAM' if result['ram'] else 'on the device'}"
        if result["what"] == "bind" and not result["init_on_alloc"]:
            words += ", init_on_alloc=0"
    return words + f", threads: {result['threads']}" * bool(result["threads"])


def find_seconds(result: Result, runner: str) -> float:
    """Return the seconds per TiB of memory."""
    return find_time(result, runner) / 1000 / (int(result["mib"]) / 2**20)


def find_cost(result: Result, runner: str) -> float:
    """Return the ns per struct page that is written."""
    return find_time(result, runner) * 1e6 / int(result["written"])


def find_shown(result: Result, runner: str) -> float:
    """Return either, in the unit of the row."""
    find = find_seconds if WHATS[result["what"]].unit == "s" else find_cost
    return find(result, runner)


def tell(number: float) -> str:
    """Return a figure with no more digits than its spread justifies."""
    return f"{number:.{2 if number < 1 else 1 if number < 100 else 0}f}"


def tell_ratio(result: Result, over: str, under: str) -> str:
    """Return a ratio without its range."""
    return f"{tell(statistics.median(find_ratios(result, over, under)))}x"


# What a table tells of a row, which it gets by its name; Pair is of a runner, too.
Figure = Callable[[str], str]
Pair = Callable[[str, str], str]


def tell_cost(record: Record, find: Callable[[Result, str], float], runner: str, row: str) -> str:
    return tell(find(record.need(row), runner))


def tell_faster(record: Record, over: str, under: str, row: str) -> str:
    return tell_ratio(record.need(row), over, under)


def tell_part(record: Record, what: str, runner: str, row: str) -> str:
    """Return the ms of a part of a row, such as unmap, or what was counted, such as locks."""
    result = record.need(row)
    if what in PARTS:
        return tell(find_time(result, runner, what))
    # What is the same in all processes stands in their first, too.
    return str(result["runs"][0][runner][what])


def tell_gain(record: Record, row: str) -> str:
    """Return the seconds per TiB, today and with the series, and their ratio."""
    if not record.find(row):
        return "not run"
    before, after = (tell_cost(record, find_seconds, one, row) for one in ("base", "series"))
    # docs/results.md has the range.
    return f"{before} -> {after} s: {tell_faster(record, 'base', 'series', row)}"


def list_costs(
    record: Record, columns: str, runners: str, find: Callable[[Result, str], float] = find_cost
) -> dict[str, Figure]:
    """Return columns with the costs of runners; a bar parts the names of either."""
    pairs = zip(columns.split("|"), runners.split("|"), strict=True)
    return {column: partial(tell_cost, record, find, runner) for column, runner in pairs}


def make_table(corner: str, rows: Mapping[str, str], columns: Mapping[str, Figure]) -> list[Row]:
    """Return a table with a line for each row, by its name in words."""
    lines = ((name, *(tell(row) for tell in columns.values())) for name, row in rows.items())
    return [(corner, *columns), *lines]


def make_pairs(
    corner: str, rows: Mapping[str, str], columns: Mapping[str, Pair], labels: Sequence[str]
) -> list[Row]:
    """Return a table with two lines for each row, of base and series."""
    lines = [
        (name * (runner == "base"), label, *(figure(runner, row) for figure in columns.values()))
        for name, row in rows.items()
        for label, runner in zip(labels, ("base", "series"), strict=True)
    ]
    return [(corner, "", *columns), *lines]


def tell_last(record: Record, runner: str, row: str) -> str:
    """Return the ratio of base and series, in the second line of the two."""
    return tell_faster(record, "base", "series", row) if runner == "series" else ""


def list_raced(
    results: Iterable[Result], find: Callable[[Result, str], float] = find_shown
) -> list[Row]:
    """Return what each result took, in the unit of its row or another one, and both ratios."""
    rows: list[Row] = [("what", "size", "base", "series", "fill", "base / series", "series / fill")]
    for result in results:
        times = (f"{find(result, runner):.2f}" for runner in ("base", "series", "bound"))
        ratios = [find_ratio(result, "base", "series"), find_ratio(result, "series", "bound")]
        ratios[1] += format_places(result, "series", "bound")
        rows.append((name_what(result), name_size(result), *times, *ratios))
    return rows


def list_others(results: Sequence[Result]) -> list[Row]:
    """Return the rows of copies and of demotion: a time of each runner, and base / each other."""
    first = results[0]
    timed = [what for what in ("samples", "copy", "read") if what in first["runs"][0]]
    keys = ("path", "init_on_alloc", "order", "other_kib", "bytes", "shifted", "apart")
    named = [key for key in keys if key in first]
    runners = list_runners(first, timed[0])
    over, under = runners[0], runners[-1]
    rows: list[Row] = [(" ".join(named), *runners * len(timed), f"{over} / {under}")]
    for result in results:
        times = (f"{find_time(result, one, what):.2f}" for what in timed for one in runners)
        name = " ".join(str(result[key]) for key in named)
        rows.append((name, *times, find_ratio(result, over, under, timed[0])))
    return rows


def format_samples(samples: Samples) -> str:
    """Return the table of a race for who ran it."""
    results = samples["results"]
    if "what" in results[0]:
        returns = ("returns", *(result["returns"] for result in results))
        rows: list[Row] = [
            (*row[:2], how, *row[2:])
            for row, how in zip(list_raced(results, find_seconds), returns, strict=True)
        ]
        unit = "seconds per TiB of one core, or of wall clock with threads"
    else:
        rows, unit = list_others(results), results[0]["unit"]
    return (
        f"{samples['cpu']}\n{unit}; {describe_runs(samples)}\n"
        f"as it boots: {samples['because']}; alternatives: {samples['alternatives'] or 'none'}\n"
        f"configuration of the kernels: {samples['config']}\n{align_rows(rows)}"
        f"{tell_other_sizes(samples)}"
        f"the hypervisor took at most {find_stolen(results):.0%} of the CPU time of a race\n"
    )
