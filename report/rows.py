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
# The series up to a patch, or v11, as the peer of base and series.
STEPS = "2026-11-27-zen-3-steps"
# Li Zhe's v11 as the peer: folder and file.
V11 = {"Zen 3": (STEPS, "v11"), "Zen 4": ("2026-11-25-zen-4-v11", "memmap")}
SIZES = (64, 256, 1024)
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
    # docs/results.md has the range.
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


def select_shown(cpu: str, kinds: Sequence[str]) -> list[Result]:
    """Return what a page shows of a CPU's results of these kinds, each once, by name and size.

    Left out are fills that are next to nothing, blocks of 256 MiB and 1 GiB, and binds without
    init_on_alloc; of a CPU that is not the newest, all sizes but the largest.
    """
    found = [
        one
        for one in load(cpu)
        if one["what"] in kinds
        and not one["threads"]
        and not (one["what"] == "fill" and one["order"] == 18 and one["ram"])
        and one.get("block_mib", 128) in (128, 2048)
        and one.get("init_on_alloc", 1)
    ]
    if cpu != NEWEST:
        found = [one for one in found if one["mib"] == max(each["mib"] for each in found)]
    once: dict[tuple[bool, int, str, int], Result] = {}
    for one in found:
        plain, kind = one["returns"] == "plain", kinds.index(one["what"])
        once.setdefault((plain, kind, name_what(one), one["mib"]), one)
    return [once[key] for key in sorted(once)]


def list_cpus(*kinds: str, by_page: bool = True, mib: int = 0) -> list[Row]:
    """Return the rows of list_raced() for what CPUs have of some kinds, with the CPU before each.

    With mib, they are those of this size.
    """
    rows: list[Row] = []
    for cpu in RUNS:
        found = [one for one in select_shown(cpu, kinds) if mib in (0, one["mib"])]
        head, *others = list_raced(found, by_page=by_page)
        rows = rows or [("CPU", "returns", *head)]
        rows += [(cpu, one["returns"], *row) for one, row in zip(found, others, strict=True)]
    return rows


GAINS: dict[str, dict[str, object]] = {
    "bind and unbind: fsdax, memmap on the device": {"what": "bind", "order": 0, "ram": 0},
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
    "boot: memory that is initialised late (deferred), one thread": {
        "what": "deferred",
        "threads": 0,
    },
}


def select_gain(results: Iterable[Result], gib: int, wanted: dict[str, object]) -> Result | None:
    """Return the result of this size on a CPU as it boots, with init_on_alloc."""
    zeroed = {"init_on_alloc": 1} if wanted["what"] == "bind" else {}
    booted = [one for one in results if one["returns"] != "plain"]
    return pick(booted, mib=gib << 10, **zeroed, **wanted)


def list_gains() -> list[Row]:
    """Return what people wait for on the newest CPU, in s per TiB, at sizes that were measured."""
    rows: list[Row] = [("seconds of one core per TiB", *(f"{gib} GiB" for gib in SIZES))]
    results = load(NEWEST)
    for told, wanted in GAINS.items():
        found = (select_gain(results, gib, wanted) for gib in SIZES)
        rows.append((told, *map(tell_pair, found)))
    return rows


def list_parts(cpu: str = NEWEST) -> list[Row]:
    """Return the parts of binds of 64 GiB on a CPU as it boots, and what they do."""
    counts = ("flushes", "locks", "allocated")
    rows: list[Row] = [
        ("bind and unbind of 64 GiB", "", *(f"{part}, ms" for part in PARTS), *counts)
    ]
    seen = set()
    for result in load(cpu):
        name = name_what(result).partition(": ")[2]
        unwanted = result["what"] != "bind" or result["returns"] == "plain" or name in seen
        if unwanted or result["mib"] != 64 << 10:
            continue
        seen.add(name)
        for kernel in ("base", "series"):
            times = (f"{find_time(result, kernel, part):.2f}" for part in PARTS)
            # What is the same in all processes stands in their first, too.
            done = (str(result["runs"][0][kernel][what]) for what in counts)
            rows.append((name, kernel, *times, *done))
    return rows


def list_threads() -> list[Row]:
    """Return the wall clock of one and two threads, ms of base, series and fill, by CPU.

    They are those of the largest memory of each kind that a CPU has. Left out are devices that have
    their memmap, as the series has one thread for these.
    """
    runners = ("base", "series", "bound")
    rows: list[Row] = [("CPU", "what", "size", "base", "series", "fill", "base / series")]
    for cpu in RUNS:
        pairs: dict[str, list[Result]] = {}
        for one in load(cpu):
            several = one["threads"] and (one["what"] == "deferred" or one["ram"])
            if several and not (one["returns"] == "plain" and cpu == NEWEST):
                pairs.setdefault(name_what(one).partition(", threads")[0], []).append(one)
        for what, found in pairs.items():
            largest = max(one["mib"] for one in found)
            both = [one for one in found if one["mib"] == largest]
            assert [one["threads"] for one in both] == [1, 2]
            times = (
                ", ".join(f"{find_time(one, runner):.0f}" for one in both) for runner in runners
            )
            ratios = (find_ratio(one, "base", "series").split(" ")[0] for one in both)
            rows.append((cpu, what, name_size(both[0]), *times, ", ".join(ratios)))
    return rows


def list_v11() -> list[Row]:
    """Return the ns per struct page of Li Zhe's v11 beside base and series, devices of 100 GiB."""
    runners = ("base", "peer", "series", "bound")
    rows: list[Row] = [("CPU", "returns", "what", "base", "v11", "series", "fill", "v11 / series")]
    for cpu, (folder, file) in V11.items():
        for one in read_samples(folder, file)["results"]:
            # The fill of 1 GiB pages in RAM is next to nothing.
            if one["mib"] != 100 << 10 or (one["order"] == 18 and one["ram"]):
                continue
            costs = (f"{find_cost(one, runner):.2f}" for runner in runners)
            ratio = find_ratio(one, "peer", "series")
            rows.append((cpu, one["returns"], name_what(one), *costs, ratio))
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
