# SPDX-License-Identifier: GPL-2.0
"""Rows of cells from samples: one function for each kind of row.

RUNS names the folders of results/ that the pages and patches show.
"""

import functools
import json
from collections.abc import Iterable, Sequence

from report.samples import (
    RESULTS,
    Result,
    Row,
    Samples,
    align_rows,
    describe_runs,
    find_mean,
    find_ratio,
    find_stolen,
    find_time,
    list_runners,
)

# The newest record of each CPU. Those of before 2026-11-26 are of older versions of the series.
RUNS = {
    "Sapphire Rapids": "2026-11-21-sapphire-rapids",
    "Zen 3": "2026-11-27-zen-3",
    "Zen 4": "2026-11-25-zen-4",
    "Zen 5": "2026-11-23-zen-5",
}
# The CPU whose record is of this version, as it boots.
NEWEST = "Zen 3"
# Two runs with v11 of Li Zhe's series as the peer, on Zen 4.
V11 = "2026-11-25-zen-4-v11"
SIZES = (8, 64, 256, 1024)
NAMES = {
    "fill": "fill",
    "bind": "bind and unbind",
    "deferred": "boot: deferred memory",
    "reserved": "boot: reserved memory",
    "online": "bring system RAM online",
    "offline": "take system RAM offline",
}
PARTS = ("map", "fill", "unmap")


@functools.cache
def read_samples(folder: str, kind: str) -> Samples:
    samples: Samples = json.loads((RESULTS / folder / f"{kind}.json").read_text())
    return samples


def load(cpu: str, kind: str = "memmap") -> list[Result]:
    """Return the results of a kind on a CPU; none, if it was not run there."""
    if not (RESULTS / RUNS[cpu] / f"{kind}.json").exists():
        return []
    results: list[Result] = read_samples(RUNS[cpu], kind)["results"]
    return results


def pick(results: Iterable[Result], **wanted: object) -> Result | None:
    """Return the first result that has these values; None is for a key that it lacks."""
    found = (one for one in results if all(one.get(key) == value for key, value in wanted.items()))
    return next(found, None)


def name_size(result: Result) -> str:
    mib = result["mib"]
    return f"{mib} MiB" if mib % 1024 else f"{mib >> 10} GiB"


def name_what(result: Result) -> str:
    """Return what runs, in the words of who waits for it, as replay/memmap/rows.c says it."""
    told = NAMES[result["what"]]
    if "block_mib" in result:
        told += f", blocks of {result['block_mib']} MiB{', half used' * result.get('used', 0)}"
    if "order" in result:
        order = int(result["order"])
        device = {0: "fsdax", 9: "device-dax, 2 MiB", 18: "device-dax, 1 GiB"}
        told += f": {device.get(order, f'order {order}')}"
        told += f", memmap {'in RAM' if result['ram'] else 'on the device'}"
        if result["what"] == "bind" and not result["init_on_alloc"]:
            told += ", init_on_alloc=0"
    return told + f", threads: {result['threads']}" * bool(result["threads"])


def find_seconds(result: Result, runner: str, what: str = "samples") -> float:
    """Return the seconds per TiB of memory; those of other results are a figure of their own."""
    return find_time(result, runner, what) / 1000 / (int(result["mib"]) / 2**20)


def find_cost(result: Result, runner: str) -> float:
    """Return the ns per struct page that is written."""
    return find_time(result, runner) * 1e6 / int(result["written"])


def tell_pair(result: Result | None) -> str:
    """Return the seconds per TiB, today and with the series, and their ratio."""
    if not result:
        return "not run"
    today, now = (find_seconds(result, one) for one in ("base", "series"))
    # Where it stands beside others, docs/results.md has the range.
    gain, *_ = find_ratio(result, "base", "series").split(" ")
    return f"{today:.2f} -> {now:.2f} s: {gain}"


def list_raced(results: Iterable[Result], *, by_page: bool = False) -> list[Row]:
    """Return what each result took, in s per TiB or ns per struct page, and both ratios."""
    find = find_cost if by_page else find_seconds
    rows: list[Row] = [("what", "size", "base", "series", "fill", "base / series", "series / fill")]
    for result in results:
        times = (f"{find(result, one):.2f}" for one in ("base", "series", "bound"))
        pairs = (("base", "series"), ("series", "bound"))
        ratios = (find_ratio(result, *pair) for pair in pairs)
        rows.append((name_what(result), name_size(result), *times, *ratios))
    return rows


def list_cpus(kind: str, *, by_page: bool = True, **wanted: object) -> list[Row]:
    """Return the rows of list_raced() for what all CPUs have of a kind, with the CPU before each.

    A result whose returns are not those of a CPU as it boots is told so.
    """
    rows: list[Row] = []
    for cpu in RUNS:
        found = [
            one
            for one in load(cpu)
            if one["what"] == kind and all(one.get(key) == value for key, value in wanted.items())
        ]
        head, *others = list_raced(found, by_page=by_page)
        rows = rows or [("CPU", "returns", *head)]
        rows += [(cpu, one["returns"], *row) for one, row in zip(found, others, strict=True)]
    return rows


GAINS: dict[str, dict[str, object]] = {
    "bind and unbind: fsdax, memmap on the device": {"what": "bind", "order": 0, "ram": 0},
    "bind and unbind: fsdax, memmap in RAM": {"what": "bind", "order": 0, "ram": 1},
    "bind and unbind: device-dax, 2 MiB, memmap in RAM, such as CXL": {
        "what": "bind",
        "order": 9,
        "ram": 1,
    },
    "bring system RAM online, blocks of 128 MiB": {"what": "online", "block_mib": 128},
    "bring system RAM online, blocks of 2 GiB": {"what": "online", "block_mib": 2048},
    "take system RAM offline, blocks of 128 MiB": {
        "what": "offline",
        "block_mib": 128,
        "used": 0,
    },
    "take system RAM offline, blocks of 2 GiB": {
        "what": "offline",
        "block_mib": 2048,
        "used": 0,
    },
    "boot: deferred memory, one thread": {"what": "deferred", "threads": 0},
}


def select_gain(results: Iterable[Result], gib: int, wanted: dict[str, object]) -> Result | None:
    """Return the result of this size on a CPU as it boots, with init_on_alloc."""
    zeroed = {"init_on_alloc": 1} if wanted["what"] == "bind" else {}
    booted = [one for one in results if one["returns"] != "plain"]
    return pick(booted, mib=gib << 10, **zeroed, **wanted)


def list_gains() -> list[Row]:
    """Return what people wait for on the newest CPU, in s per TiB, at sizes that were measured."""
    sizes = SIZES[1:]
    rows: list[Row] = [("seconds of one core per TiB", *(f"{gib} GiB" for gib in sizes))]
    results = load(NEWEST)
    for told, wanted in GAINS.items():
        found = (select_gain(results, gib, wanted) for gib in sizes)
        rows.append((told, *map(tell_pair, found)))
    return rows


def list_sizes() -> list[Row]:
    """Return the ns per struct page of each size, base and series: flat or not."""
    rows: list[Row] = [("ns per struct page written", *(f"{gib} GiB" for gib in SIZES))]
    results = load(NEWEST)
    for told, wanted in GAINS.items():
        cells = []
        for gib in SIZES:
            found = select_gain(results, gib, wanted)
            costs = [find_cost(found, one) for one in ("base", "series")] if found else []
            cells.append(" -> ".join(f"{cost:.2f}" for cost in costs) or "not run")
        rows.append((told, *cells))
    return rows


def list_parts(cpu: str = NEWEST) -> list[Row]:
    """Return the parts of binds of 64 GiB, and what they do."""
    counts = ("flushes", "locks", "allocated")
    rows: list[Row] = [
        ("bind and unbind of 64 GiB", "returns", "", *(f"{part}, ms" for part in PARTS), *counts)
    ]
    seen = set()
    for result in load(cpu):
        key = (name_what(result), result["returns"])
        if result["what"] != "bind" or result["mib"] != 64 << 10 or key in seen:
            continue
        seen.add(key)
        for kernel in ("base", "series"):
            times = (f"{find_time(result, kernel, part):.2f}" for part in PARTS)
            # What is the same in all processes stands in their first, too.
            done = (str(result["runs"][0][kernel][what]) for what in counts)
            rows.append((key[0].partition(": ")[2], key[1], kernel, *times, *done))
    return rows


def list_orders() -> list[Row]:
    """Return base / series of each order, with memcpy() and with MOVNTI."""
    found = {
        cpu: {
            one["order"]: one
            for one in load(cpu)
            if one["what"] == "fill"
            and one["mib"] == 16 << 10
            and not one["threads"]
            and not one["ram"]
        }
        for cpu in RUNS
    }
    rows: list[Row] = [("order", *("memcpy", "nt") * len(RUNS))]
    for order in (*range(11), 18):
        pairs = [(found[cpu][order], one) for cpu in RUNS for one in ("fallback", "series")]
        rows.append((str(order), *(find_ratio(one, "base", kernel) for one, kernel in pairs)))
    return rows


def list_threads() -> list[Row]:
    """Return the wall clock of one and two threads, ms of base, series and fill, by CPU."""
    rows: list[Row] = [
        ("CPU", "what", "size", "threads", "base", "series", "fill", "base / series")
    ]
    for cpu in RUNS:
        for one in load(cpu):
            if not one["threads"] or (one["returns"] == "plain" and cpu == NEWEST):
                continue
            times = (f"{find_time(one, runner):.0f} ms" for runner in ("base", "series", "bound"))
            what = name_what(one).partition(", threads")[0]
            ratio = find_ratio(one, "base", "series")
            rows.append((cpu, what, name_size(one), str(one["threads"]), *times, ratio))
    return rows


def list_v11() -> list[Row]:
    """Return the ns per struct page of Li Zhe's v11 beside base and series, devices of 100 GiB."""
    runners = ("base", "peer", "series", "bound")
    rows: list[Row] = [("what", "base", "v11", "series", "fill", "v11 / series")]
    for one in read_samples(V11, "memmap")["results"]:
        if one["mib"] == 100 << 10:
            costs = (f"{find_cost(one, runner):.2f}" for runner in runners)
            rows.append((name_what(one), *costs, find_ratio(one, "peer", "series")))
    return rows


def list_demotion() -> list[Row]:
    """Return base / series of copies of 2 MiB and of what is read after them, by CPU.

    Older records have no zeroing: they are as with init_on_alloc=0.
    """
    rows: list[Row] = [("CPU", "init_on_alloc", "copy", "other data is read", "copies are read")]
    for cpu in RUNS:
        large = [one for one in load(cpu, "demotion") if one["order"] == 9]
        for zeroed in (1, 0):
            some = [one for one in large if one["init_on_alloc"] == zeroed]
            beside = [one for one in some if one["other_kib"]]
            if not some:
                continue
            cells = [find_mean(beside, "base", "series", what) for what in ("copy", "read")]
            itself = [one for one in some if not one["other_kib"]]
            cells.append(find_mean(itself, "base", "series", "read"))
            rows.append((cpu, str(zeroed), *cells))
    return rows


def list_isolated(cpu: str = NEWEST) -> list[Row]:
    """Return the ns that an inline copy of 64 bytes takes, by memcpy() and by memcpy_nt()."""
    rows: list[Row] = [("apart", "aligned", "shifted by 8", "across two lines")]
    results = load(cpu, "copy")
    for apart in (64, 128, 256, 4096):
        cells = []
        for shift in (0, 8, 32):
            found = pick(results, bytes=64, shifted=shift, apart=apart)
            pair = ("memcpy", "memcpy_nt") if found else ()
            times = (f"{find_time(found, one):.2f}" for one in pair if found)
            cells.append(" -> ".join(times) or "not run")
        rows.append((str(apart), *cells))
    return rows


def list_brief(rows: Sequence[Row]) -> list[Row]:
    """Return the rows without what they have in brackets, the ranges."""
    return [[cell.split(" (")[0] for cell in row] for row in rows]


def list_others(samples: Samples) -> list[Row]:
    """Return the rows of copies and of demotion: a time of each runner, and base / each other."""
    first = samples["results"][0]
    figures = [what for what in ("samples", "copy", "read") if what in first["runs"][0]]
    told = [key for key in ("init_on_alloc", "order", "other_kib", "bytes", "shifted", "apart")
            if key in first]  # fmt: skip
    runners = list_runners(first, figures[0])
    rows: list[Row] = [(" ".join(told), *runners * len(figures), f"{runners[0]} / {runners[-1]}")]
    for result in samples["results"]:
        times = (f"{find_time(result, one, what):.2f}" for what in figures for one in runners)
        name = " ".join(str(result[key]) for key in told)
        rows.append((name, *times, find_ratio(result, runners[0], runners[-1], figures[0])))
    return rows


def format_samples(samples: Samples) -> str:
    """Return the table of a race for who ran it."""
    results = samples["results"]
    if "what" in results[0]:
        head, *others = list_raced(results)
        rows = [(*head[:2], "returns", *head[2:])]
        for one, row in zip(results, others, strict=True):
            rows.append((*row[:2], one["returns"], *row[2:]))
        unit = "seconds per TiB of one core, or of wall clock with threads"
    else:
        rows, unit = [tuple(row) for row in list_others(samples)], results[0]["unit"]
    return (
        f"{samples['cpu']}\n{unit}; {describe_runs(samples)}\n"
        f"as it boots: {samples['because']}; alternatives: {samples['alternatives'] or 'none'}\n"
        f"configuration of the kernels: {samples['config']}\n{align_rows(rows)}"
        f"the hypervisor took at most {find_stolen(results):.0%} of the CPU time of a race\n"
    )
