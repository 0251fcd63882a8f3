# SPDX-License-Identifier: GPL-2.0
"""Tables, as rows of cells, from samples.

A row of the program memmap has a name, such as bind:64:o9:ram, and of each is told a FIGURE:

    base            what it took the base
    peer@v11        the same of the peer in the file v11 of STEPS_V11; those of vmemmap are in
                    STEPS_VMEMMAP, other steps in STEPS
    base/series     their ratio
    unmap:base      ms of a part of a bind, or what was counted in it
    A>B             both, with an arrow between them

RUNS names the folders of results/ that the pages and patches show.
"""

import functools
import json
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product

from report.samples import (
    RESULTS,
    Result,
    Row,
    Samples,
    align_rows,
    describe_runs,
    find_mean,
    find_ratio,
    find_ratios,
    find_stolen,
    find_time,
    format_places,
    list_runners,
    tell_other_sizes,
)

# The newest record of each CPU. Those of before 2026-11-26 are of older versions of the series.
RUNS = {
    "Granite Rapids": "2026-11-28-granite-rapids",
    "Ice Lake": "2026-11-28-ice-lake",
    "Sapphire Rapids": "2026-11-21-sapphire-rapids",
    "Zen 3": "2026-11-27-zen-3",
    "Zen 4": "2026-11-28-zen-4",
    "Zen 5": "2026-11-27-zen-5",
}
# The CPU of the tables without a column for it: its record is of this version, as it boots.
NEWEST = "Zen 4"
# Who moves folios, in rows of demotion.
PATHS = ("reclaim", "move_pages", "mbind", "offline")
# The series up to a patch, as the peer of base and series.
STEPS = "2026-11-27-zen-3-steps"
STEPS_VMEMMAP = "2026-11-28-zen-4-vmemmap"
# As the peer: v11, and v11 with on-v11.
STEPS_V11 = "2026-11-28-granite-rapids-v11"
# Reserved memory, by who has it, and beside it deferred memory.
RESERVED = "2026-11-28-zen-4-reserved"
# Li Zhe's v11 as the peer: folder and file.
V11 = {
    "Granite Rapids": (STEPS_V11, "v11"),
    "Zen 3": (STEPS, "v11"),
    "Zen 4": ("2026-11-25-zen-4-v11", "memmap"),
    "Zen 5": ("2026-11-27-zen-5", "v11"),
}
NAMES = {
    "fill": "fill",
    "bind": "bind and unbind",
    "deferred": "boot: deferred memory",
    "reserved": "boot: reserved memory",
    "online": "bring system RAM online",
    "offline": "take system RAM offline",
    "plug": "plug system RAM: add, online",
    "unplug": "unplug system RAM: offline, remove",
}
# Who has reserved memory. CMA's is then activated, and KHO's is of huge pages.
OWNERS = {"memblock": "", "CMA": ", of CMA", "KHO": ", preserved by KHO"}
PARTS = ("map", "fill", "unmap")
# Binds of which the parts are shown, by name.
BINDS = {
    "order 0, on device": "bind:64",
    "order 0, in RAM": "bind:64:ram",
    "2 MiB, in RAM": "bind:64:o9:ram",
    "1 GiB, in RAM": "bind:64:o18:ram",
}


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
    told = NAMES[result["what"]] + OWNERS[result.get("owner", "memblock")]
    if "block_mib" in result:
        told += f", blocks of {result['block_mib']} MiB{', half used' * result.get('used', 0)}"
        told += ", behind a gap" * result.get("gap", 0)
    if "order" in result:
        order = int(result["order"])
        device = {0: "fsdax", 9: "device-dax, 2 MiB", 18: "device-dax, 1 GiB"}
        told += f": {device.get(order, f'order {order}')}"
        told += f", memmap {'in RAM' if result['ram'] else 'on the device'}"
        if result["what"] == "bind" and not result["init_on_alloc"]:
            told += ", init_on_alloc=0"
    return told + f", threads: {result['threads']}" * bool(result["threads"])


def name_rows(what: str, sizes: Iterable[int], kinds: Iterable[str] = ("",)) -> list[str]:
    """Return the names of rows of the program memmap, of each kind in each size in GiB."""
    return [f"{what}:{gib}{kind}" for kind in kinds for gib in sizes]


# The rows of the tables of docs/results.md, by the table's name: of the largest device of each CPU,
# and for the newest by size.
SHOWN = {
    "bind": name_rows("bind", (8, 64, 100, 256, 1024), ("", ":o9", ":ram", ":o9:ram", ":o18:ram")),
    "fill": name_rows("fill", (100,), ("", ":o9", ":o18", ":o9:ram")),
    "boot": [
        *name_rows("deferred", (8, 64, 100, 256, 1024)),
        *name_rows("reserved", (8, 64, 100, 256), ("", ":cma", ":kho")),
    ],
    "blocks": [
        *name_rows("online", (8, 64, 256, 1024), (":b128", ":b2048")),
        *name_rows("offline", (8, 64, 256, 1024), (":b128", ":b2048", ":b128:used", ":b2048:used")),
    ],
    "plugged": [
        *name_rows("plug", (8, 64, 256, 512, 1024), (":b128", ":b2048")),
        *name_rows(
            "unplug", (8, 64, 256, 512, 1024), (":b128", ":b2048", ":b128:used", ":b2048:used")
        ),
    ],
}


def find(row: str, step: str = "", cpu: str = NEWEST, *, plain: bool = False) -> Result | None:
    """Return the result of a row, with the CPU as it boots or with plain returns.

    It is that of a CPU's record, or of a file of a folder with steps.
    """
    folder = STEPS
    if step.startswith(("v11", "vmemmap")):
        folder = STEPS_V11 if step.startswith("v11") else STEPS_VMEMMAP
    results = read_samples(folder, step)["results"] if step else load(cpu)
    return pick([one for one in results if (one["returns"] == "plain") == plain], row=row)


def find_seconds(result: Result, runner: str, what: str = "samples") -> float:
    """Return the seconds per TiB of memory; those of other results are a figure of their own."""
    return find_time(result, runner, what) / 1000 / (int(result["mib"]) / 2**20)


def find_cost(result: Result, runner: str) -> float:
    """Return the ns per struct page that is written."""
    return find_time(result, runner) * 1e6 / int(result["written"])


def tell(number: float) -> str:
    """Return a figure with no more digits than its spread justifies."""
    return f"{number:.{2 if number < 1 else 1 if number < 100 else 0}f}"


def tell_ratio(result: Result, over: str, under: str) -> str:
    """Return a ratio without its range."""
    return f"{tell(statistics.median(find_ratios(result, over, under)))}x"


def tell_pair(result: Result | None) -> str:
    """Return the seconds per TiB, today and with the series, and their ratio."""
    if not result:
        return "not run"
    today, now = (find_seconds(result, one) for one in ("base", "series"))
    # docs/results.md has the range.
    return f"{tell(today)} -> {tell(now)} s: {tell_ratio(result, 'base', 'series')}"


def tell_figure(
    row: str, figure: str, cost: Callable[[Result, str], float] = find_cost, cpu: str = NEWEST
) -> str:
    """Return a FIGURE of a row, which was run on a CPU."""
    if ">" in figure:
        return " -> ".join(tell_figure(row, one, cost, cpu) for one in figure.split(">"))
    name, _, step = figure.partition("@")
    what, _, runner = name.rpartition(":")
    result = find(row, step, cpu)
    assert result, f"{row} was not run ({step or RUNS[cpu]})"
    if "/" in runner:
        return tell_ratio(result, *runner.split("/"))
    if what in PARTS:
        return tell(find_time(result, runner, what))
    # What is the same in all processes stands in their first, too.
    return str(result["runs"][0][runner][what]) if what else tell(cost(result, runner))


def make_grid(
    head: str,
    rows: Mapping[str, str],
    figures: str,
    cost: Callable[[Result, str], float] = find_cost,
    cpu: str = NEWEST,
) -> list[Row]:
    """Return a table with a line for each row, by its name; a bar parts the words of the head."""
    made: list[Row] = [head.split("|")]
    for name, row in rows.items():
        made.append((name, *(tell_figure(row, figure, cost, cpu) for figure in figures.split())))
    return made


def make_pairs(
    head: str, rows: Mapping[str, str], figures: str, labels: Sequence[str], step: str = ""
) -> list[Row]:
    """Return a table with two lines for each row, of base and series, and at last their ratio."""
    made: list[Row] = [head.split("|")]
    for name, row in rows.items():
        for label, runner in zip(labels, ("base", "series"), strict=True):
            cells = (tell_figure(row, f"{figure}:{runner}{step}") for figure in figures.split())
            first = runner == "base"
            ratio = "" if first else tell_figure(row, f"base/series{step}")
            made.append((name * first, label, *cells, ratio))
    return made


def list_raced(results: Iterable[Result], *, by_page: bool = False) -> list[Row]:
    """Return what each result took, in s per TiB or ns per struct page, and both ratios."""
    find = find_cost if by_page else find_seconds
    rows: list[Row] = [("what", "size", "base", "series", "fill", "base / series", "series / fill")]
    for result in results:
        times = (f"{find(result, one):.2f}" for one in ("base", "series", "bound"))
        pairs = (("base", "series"), ("series", "bound"))
        ratios = [find_ratio(result, *pair) for pair in pairs]
        ratios[1] += format_places(result, "series", "bound")
        rows.append((name_what(result), name_size(result), *times, *ratios))
    return rows


def list_cpus(rows: Iterable[str], *, by_page: bool = True) -> list[Row]:
    """Return the rows of list_raced() for what each CPU has of some rows, with the CPU before."""
    rows, made = [*rows], list[Row]()
    for cpu in RUNS:
        for plain in (False, True):
            found = [one for row in rows if (one := find(row, cpu=cpu, plain=plain))]
            head, *others = list_raced(found, by_page=by_page)
            made = made or [("CPU", "returns", *head)]
            made += [(cpu, one["returns"], *row) for one, row in zip(found, others, strict=True)]
    return made


# What people wait for, and the row for it of each size.
GAINS = {
    "bind and unbind: fsdax, memmap on the device": "bind:{}",
    "bind and unbind: device-dax, 2 MiB, memmap in RAM, such as CXL": "bind:{}:o9:ram",
    "plug system RAM: add, bring online, blocks of 128 MiB": "plug:{}:b128",
    "plug system RAM: add, bring online, blocks of 2 GiB": "plug:{}:b2048",
    "unplug it, all of it free: take offline, remove, blocks of 128 MiB": "unplug:{}:b128",
    "half of it in use, blocks of 128 MiB": "unplug:{}:b128:used",
    "unplug it, all of it free: take offline, remove, blocks of 2 GiB": "unplug:{}:b2048",
    "half of it in use, blocks of 2 GiB": "unplug:{}:b2048:used",
    "boot: memory that is initialised late (deferred), one thread": "deferred:{}",
}


def list_gains() -> list[Row]:
    """Return GAINS on the newest CPU as it boots, in s per TiB, at sizes that were measured."""
    sizes = (8, 64, 256)
    rows: list[Row] = [("seconds of one core per TiB, of", *(f"{gib} GiB" for gib in sizes))]
    for told, row in GAINS.items():
        rows.append((told, *(tell_pair(find(row.format(gib))) for gib in sizes)))
    return rows


def list_threads() -> list[Row]:
    """Return the wall clock of one and two threads, ms of base, series and fill, by CPU.

    Left out are devices that have their memmap, as the series has one thread for these.
    """
    runners = ("base", "series", "bound")
    rows: list[Row] = [("CPU", "what", "size", "base", "series", "fill", "base / series")]
    for cpu in RUNS:
        for row in (*name_rows("deferred", (64, 100)), "fill:100:o9:ram"):
            names = (f"{row}:t{threads}" for threads in (1, 2))
            both = [one for name in names
                    if (one := find(name, cpu=cpu) or find(name, cpu=cpu, plain=True))]  # fmt: skip
            if not both:
                continue
            what = name_what(both[0]).partition(", threads")[0]
            times = (
                ", ".join(f"{find_time(one, runner):.0f}" for one in both) for runner in runners
            )
            ratios = (tell_ratio(one, "base", "series") for one in both)
            rows.append((cpu, what, name_size(both[0]), *times, ", ".join(ratios)))
    return rows


def list_v11() -> list[Row]:
    """Return the ns per struct page of Li Zhe's v11 beside base and series, devices of 100 GiB."""
    rows: list[Row] = [("CPU", "returns", "what", "base", "v11", "series", "fill", "v11 / series")]
    for cpu, (folder, file) in V11.items():
        for row in SHOWN["fill"]:
            one = pick(read_samples(folder, file)["results"], row=row)
            assert one
            costs = (
                f"{find_cost(one, runner):.2f}" for runner in ("base", "peer", "series", "bound")
            )
            rows.append(
                (cpu, one["returns"], name_what(one), *costs, find_ratio(one, "peer", "series"))
            )
    return rows


def select_folios(cpu: str, zeroed: int, path: str = "reclaim") -> list[Result]:
    """Return the results of folios of 2 MiB that a path moves, with init_on_alloc=1 or 0.

    Older records have one path, which is as reclaim.
    """
    return [one for one in load(cpu, "demotion")
            if one["order"] == 9 and one["init_on_alloc"] == zeroed
            and one.get("path", "reclaim") == path]  # fmt: skip


def list_demotion() -> list[Row]:
    """Return base / series of copies of 2 MiB and of what is read after them, by CPU and path.

    Older records have no zeroing: they are as with init_on_alloc=0.
    """
    rows: list[Row] = [
        ("CPU", "path", "init_on_alloc", "move", "other data is read", "copies are read")
    ]
    for cpu, path, zeroed in product(RUNS, PATHS, (1, 0)):
        if not (some := select_folios(cpu, zeroed, path)):
            continue
        beside = [one for one in some if one["other_kib"]]
        itself = [one for one in some if not one["other_kib"]]
        cells = [find_mean(beside, "base", "series", what) for what in ("copy", "read")]
        cells.append(find_mean(itself, "base", "series", "read"))
        rows.append((cpu, path, str(zeroed), *cells))
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
    keys = ("path", "init_on_alloc", "order", "other_kib", "bytes", "shifted", "apart")
    told = [key for key in keys if key in first]
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
        f"{tell_other_sizes(samples)}"
        f"the hypervisor took at most {find_stolen(results):.0%} of the CPU time of a race\n"
    )
