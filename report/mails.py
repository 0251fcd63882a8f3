# SPDX-License-Identifier: GPL-2.0
"""Rows of the tables in patches and cover letters: the newest record, and what each patch gives."""

import statistics

from report.rows import (
    NEWEST,
    PARTS,
    RUNS,
    STEPS,
    find_cost,
    find_seconds,
    load,
    name_size,
    pick,
    read_samples,
)
from report.samples import Result, Row, find_mean, find_ratio, find_ratios, find_time

FILLS = {
    "0 (nd_pmem)": "fill:100",
    "9 (dax_pmem, 2 MiB)": "fill:100:o9",
    "18 (1 GiB)": "fill:100:o18",
    "9, deduplicated": "fill:100:o9:ram",
}
ON_V11 = {
    "0": "fill:100",
    "2": "fill:16:o2",
    "9": "fill:100:o9",
    "18": "fill:100:o18",
    "9, deduplicated": "fill:100:o9:ram",
}
BLOCKS = {"128 MiB": 128, "256 MiB": 256, "2 GiB": 2048}
SIZES = {"8 GiB": 8, "64 GiB": 64, "256 GiB": 256, "1 TiB": 1024}
BINDS = {
    "order 0, on device": "bind:64",
    "order 0, in RAM": "bind:64:ram",
    "2 MiB, in RAM": "bind:64:o9:ram",
    "1 GiB, in RAM": "bind:64:o18:ram",
}


def find(row: str, step: str = "") -> Result | None:
    """Return the result of a row as the CPU boots, in the newest record or in a step's file."""
    results = read_samples(STEPS, step)["results"] if step else load(NEWEST)
    return pick([one for one in results if one["returns"] != "plain"], row=row)


def need(row: str, step: str = "") -> Result:
    result = find(row, step)
    assert result, f"{row} was not run ({step or RUNS[NEWEST]})"
    return result


def tell(number: float) -> str:
    return f"{number:.2f}" if number < 100 else f"{number:.1f}"


def tell_costs(row: str, *runners: str, step: str = "") -> list[str]:
    """Return the ns per struct page of each runner; - if the row was not run."""
    result = find(row, step)
    return [tell(find_cost(result, runner)) if result else "-" for runner in runners]


def tell_ratio(result: Result, over: str, under: str) -> str:
    return find_ratio(result, over, under).split(" ")[0]


def list_fills() -> list[Row]:
    rows: list[Row] = [("order", "7.3.4", "v11", "series", "fill", "v11 / series")]
    for name, row in FILLS.items():
        costs = tell_costs(row, "base", "peer", "series", "bound", step="v11")
        rows.append((name, *costs, tell_ratio(need(row, "v11"), "peer", "series")))
    return rows


def list_on_v11(*, patch: bool) -> list[Row]:
    """Return v11 beside v11 with on-v11, for the patch or with their ratio for the cover letter."""
    names = {
        "0": "0 (nd_pmem)",
        "2": "2 (mshv_vtl may)",
        "9": "9 (dax_pmem, 2 MiB)",
        "18": "18 (1 GiB)",
    }
    rows: list[Row] = [("order", "7.3.4", "v11", "this patch", "fill")]
    if not patch:
        rows = [("order", "7.3.4", "v11", "this", "fill", "v11 / this")]
    for name, row in ON_V11.items():
        before, after = need(row, "v11"), need(row, "v11-and-on-v11")
        costs = [find_cost(before, "base"), find_cost(before, "peer")]
        costs += [find_cost(after, "peer"), find_cost(after, "bound")]
        cells = [*map(tell, costs)]
        # They are two programs. What ran in both relates them: the series.
        over, under = (
            statistics.median(find_ratios(one, "peer", "series")) for one in (before, after)
        )
        cells += [f"{over / under:.2f}x"] * (not patch)
        rows.append((name if patch else names.get(name, name), *cells))
    return rows


def list_first_orders() -> list[Row]:
    orders = range(1, 6)
    rows: list[Row] = [("order", *map(str, orders))]
    for name, runner in (("base", "base"), ("this patch", "fallback")):
        rows.append((name, *(tell_costs(f"fill:16:o{order}", runner)[0] for order in orders)))
    return rows


def list_orders() -> list[Row]:
    rows: list[Row] = [("order", "base", "memcpy()", "memcpy_nt()", "fill")]
    runners = ("base", "fallback", "series", "bound")
    rows += ((str(n), *tell_costs(f"fill:16:o{n}", *runners)) for n in (*range(11), 18))
    return rows


def list_boot() -> list[Row]:
    rows: list[Row] = [("memory", "base", "series", "fill", "base / series")]
    for name, gib in SIZES.items():
        row = f"deferred:{gib}"
        costs = tell_costs(row, "base", "series", "bound")
        rows.append((name, *costs, tell_ratio(need(row), "base", "series")))
    return rows


def list_boot_stores() -> list[Row]:
    costs = tell_costs("deferred:64", "base", "fallback", "series")
    return [("base", "memcpy()", "memcpy_nt()"), costs]


def list_reserved() -> list[Row]:
    rows: list[Row] = [("CPU, returns", "reserved", "base", "series", "fill", "base / series")]
    for cpu in RUNS:
        for one in load(cpu):
            if one["what"] == "reserved":
                name = f"{cpu}, {'Safe RET' if one['returns'] == 'safe' else one['returns']}"
                costs = (tell(find_cost(one, runner)) for runner in ("base", "series", "bound"))
                rows.append((name, name_size(one), *costs, tell_ratio(one, "base", "series")))
    return rows


def list_tib() -> list[Row]:
    """Return the seconds of one core for 1 TiB."""
    rows: list[Row] = [("blocks of", "7.3.4", "series")]
    for name, what in (("128 MiB", "online"), ("2 GiB", "online"), ("2 GiB", "offline")):
        result = need(f"{what}:1024:b{BLOCKS[name]}")
        times = (tell(find_seconds(result, runner)) for runner in ("base", "series"))
        rows.append((f"{name}, {what}", *times))
    return rows


def list_hotplug() -> list[Row]:
    rows: list[Row] = [("", "", *SIZES)]
    for what, names in (("online", [*BLOCKS]), ("offline", ["128 MiB", "2 GiB"])):
        for name in names:
            found = [
                tell_costs(f"{what}:{gib}:b{BLOCKS[name]}", "base", "series")
                for gib in SIZES.values()
            ]
            rows.append((f"{what}, {name}", "7.3.4", *(base for base, _ in found)))
            rows.append(("", "series", *(series for _, series in found)))
    return rows


def list_hotplug_steps() -> list[Row]:
    rows: list[Row] = [("", "online", "offline")]
    steps = {
        "7.3.4": ("base", 1),
        "with 1": ("peer", 1),
        "with 1 and 2": ("peer", 2),
        "with 1 to 3": ("peer", 3),
        "with 1 to 4": ("peer", 4),
        "with all": ("peer", 6),
    }
    for name, (runner, number) in steps.items():
        step = f"hotplug-memmap-{number}"
        cells = (tell_costs(f"{what}:64:b128", runner, step=step)[0] for what in rows[0][1:])
        rows.append((name, *cells))
    return rows


def list_blocks(what: str, before: int, after: int) -> list[Row]:
    """Return what a patch of hotplug-memmap gives; before is the one below it, 0 the base."""
    rows: list[Row] = [("64 GiB, blocks of", "before", "after")]
    for name in ("128 MiB", "2 GiB"):
        row = f"{what}:64:b{BLOCKS[name]}"
        runner = "peer" if before else "base"
        costs = tell_costs(row, runner, step=f"hotplug-memmap-{before or after}")
        rows.append((name, *costs, *tell_costs(row, "peer", step=f"hotplug-memmap-{after}")))
    return rows


def list_binds() -> list[Row]:
    rows: list[Row] = [("64 GiB", "", *PARTS, "before / after")]
    for name, row in BINDS.items():
        result = need(row)
        before, after = (
            [f"{find_time(result, runner, part):.2f}" for part in PARTS]
            for runner in ("base", "series")
        )
        rows.append((name, "before", *before, ""))
        rows.append(("", "after", *after, tell_ratio(result, "base", "series")))
    return rows


def tell_figure(row: str, step: str, what: str) -> str:
    """Return the ms of a part, or a count, of the series up to a step; without one, of all."""
    result, runner = need(row, step), "peer" if step else "series"
    if what in PARTS:
        return f"{find_time(result, runner, what):.2f}"
    # What is the same in all processes stands in their first, too.
    return str(result["runs"][0][runner][what])


def list_counts() -> list[Row]:
    rows: list[Row] = [("64 GiB, in RAM", "", "order 0", "2 MiB", "1 GiB")]
    for name, what in (("TLB flushes", "flushes"), ("locks", "locks")):
        for when, runner in (("before", "base"), ("after", "series")):
            cells = (str(need(row)["runs"][0][runner][what]) for row in [*BINDS.values()][1:])
            rows.append((name * (when == "before"), when, *cells))
    return rows


def list_change(names: str, before: str, after: str, figures: dict[str, str]) -> list[Row]:
    """Return what a patch of vmemmap gives; names are those of rows, figures those of columns."""
    rows: list[Row] = [("", *figures)]
    for name in names.split(", "):
        row = BINDS[f"{name}, in RAM"]
        cells = (
            f"{tell_figure(row, before, what)} -> {tell_figure(row, after, what)}"
            for what in figures.values()
        )
        rows.append((name, *cells))
    return rows


def list_unzeroed() -> list[Row]:
    changed = list_change("order 0, 2 MiB", "vmemmap-6", "", {"map": "map"})
    rows = (BINDS[f"{name}, in RAM"] for name, _ in changed[1:])
    return [("", "map", "fill")] + [
        (*cells, tell_figure(row, "", "fill")) for cells, row in zip(changed[1:], rows, strict=True)
    ]


def list_demotion(*head: str, ratio: bool) -> list[Row]:
    """Return the us of a folio of 2 MiB, geometric means over the sizes of other data."""
    rows: list[Row] = [("", *head)]
    for zeroed in (1, 0):
        found = [
            one
            for one in load(NEWEST, "demotion")
            if one["order"] == 9 and one["other_kib"] and one["init_on_alloc"] == zeroed
        ]
        cells = []
        for runner in ("base", "series"):
            pages = (find_time(one, runner, "copy") for one in found)
            cells.append(f"{statistics.geometric_mean(pages) * 512 / 1000:.0f}")
        cells += [find_mean(found, "base", "series", "copy").split(" ")[0]] * ratio
        rows.append((f"init_on_alloc={zeroed}", *cells))
    return rows


def list_mails() -> tuple[tuple[str, list[Row]], ...]:
    """Return the tables, and in which file of series/ each is, found by its first line."""
    every = "order 0, 2 MiB, 1 GiB"
    return (
        ("zone-device-memmap/0000-*", list_fills()),
        ("zone-device-memmap/*-initialise-ZONE_DEVICE-*", list_first_orders()),
        ("zone-device-memmap/*-mm-copy-the-*", list_orders()),
        ("on-v11/0000-*", list_on_v11(patch=False)),
        ("on-v11/0001-*", list_on_v11(patch=True)),
        ("boot-memmap/0000-*", list_boot()),
        ("boot-memmap/0002-*", list_boot_stores()),
        ("reserved-memmap/0001-*", list_reserved()),
        ("hotplug-memmap/0000-*", list_tib()),
        ("hotplug-memmap/0000-*", list_hotplug()),
        ("hotplug-memmap/0000-*", list_hotplug_steps()),
        ("hotplug-memmap/0001-*", list_blocks("online", 0, 1)),
        ("hotplug-memmap/0002-*", list_blocks("offline", 1, 2)),
        ("hotplug-memmap/0003-*", list_blocks("offline", 2, 3)),
        ("hotplug-memmap/0004-*", list_blocks("offline", 3, 4)),
        ("hotplug-memmap/0006-*", list_blocks("online", 4, 6)),
        ("vmemmap/0000-*", list_binds()),
        ("vmemmap/0000-*", list_counts()),
        (
            "vmemmap/0001-*",
            list_change(
                every, "bind-before-vmemmap", "vmemmap-1", {"ms": "unmap", "locks": "locks"}
            ),
        ),
        (
            "vmemmap/0005-*",
            list_change(every, "vmemmap-2", "vmemmap-5", {"ms": "unmap", "flushes": "flushes"}),
        ),
        (
            "vmemmap/0006-*",
            list_change(
                "2 MiB, 1 GiB",
                *("vmemmap-5", "vmemmap-6"),
                {"map": "map", "unmap": "unmap", "locks": "locks"},
            ),
        ),
        ("vmemmap/0007-*", list_unzeroed()),
        ("demotion/0000-*", list_demotion("today", "series", "today / series", ratio=True)),
        ("demotion/0002-*", list_demotion("before", "this patch", ratio=False)),
    )
