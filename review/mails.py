# SPDX-License-Identifier: GPL-2.0
"""The tables of patches and cover letters: the newest record, and what each patch gives.

`make export`, which alone writes series/, writes them. A table is found by its first line.
"""

import re
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.core import Options, UserError, run_stage
from harness.kernel.topics import SERIES
from report.rows import (
    BINDS,
    NEWEST,
    PARTS,
    RESERVED,
    find,
    find_cost,
    find_seconds,
    make_grid,
    make_pairs,
    name_size,
    read_samples,
    select_folios,
    tell,
    tell_figure,
    tell_ratio,
)
from report.samples import Result, Row, align_rows, find_ratios, find_time
from report.tables import write_changed

ON_V11 = {
    "0 (nd_pmem)": "fill:100",
    "2 (mshv_vtl may)": "fill:16:o2",
    "9 (dax_pmem, 2 MiB)": "fill:100:o9",
    "18 (1 GiB)": "fill:100:o18",
    "9, deduplicated": "fill:100:o9:ram",
}
# The same, but for the order that only the increments on v11 are about.
FILLS = {name: row for name, row in ON_V11.items() if row != "fill:16:o2"}
# The CPU of the core's tables: plain copies are slower than today there, and v11 was raced.
CORE = "Granite Rapids"
SIZES = {"8 GiB": 8, "64 GiB": 64, "256 GiB": 256, "1 TiB": 1024}
BLOCKS = {"128 MiB": "b128", "256 MiB": "b256", "2 GiB": "b2048"}
# The steps of vmemmap ran with less memory.
STEPPED = {name: row.replace("64", "16", 1) for name, row in BINDS.items()}
IN_RAM = {name.removesuffix(", in RAM"): row for name, row in [*STEPPED.items()][1:]}


def turn(rows: Iterable[Row]) -> list[Row]:
    return [*zip(*rows, strict=True)]


def list_on_v11(*, patch: bool) -> list[Row]:
    """Return v11 beside v11 with on-v11, for the patch or with their ratio for the cover letter."""
    rows: list[Row] = [("order", "7.3.4", "v11", "this patch", "fill")]
    if not patch:
        rows = [("order", "7.3.4", "v11", "this", "fill", "v11 / this")]
    for name, row in ON_V11.items():
        figures = ("base@v11", "peer@v11", "peer@v11-and-on-v11", "bound@v11-and-on-v11")
        cells = [tell_figure(row, figure) for figure in figures]
        # They are two programs. What ran in both relates them: the series.
        over, under = (
            statistics.median(find_ratios(result, "peer", "series"))
            for step in ("v11", "v11-and-on-v11")
            if (result := find(row, step))
        )
        cells += [f"{tell(over / under)}x"] * (not patch)
        rows.append((name.partition(" (")[0] if patch else name, *cells))
    return rows


def list_reserved(*owners: str) -> list[Row]:
    """Return the ns per struct page of reserved memory, by who has it."""
    rows: list[Row] = [("reserved", "size", "7.3.4", "series", "fill", "7.3.4 / series")]
    for one in read_samples(RESERVED, "reserved")["results"]:
        if one.get("owner") in owners:
            costs = (tell(find_cost(one, runner)) for runner in ("base", "series", "bound"))
            rows.append((one["owner"], name_size(one), *costs, tell_ratio(one, "base", "series")))
    return rows


def list_hotplug() -> list[Row]:
    """Return the costs of all blocks and sizes; - where one was not run."""
    rows: list[Row] = [("", "", *SIZES)]
    for what, names in (("online", [*BLOCKS]), ("offline", ["128 MiB", "2 GiB"])):
        for name in names:
            sizes = [f"{what}:{gib}:{BLOCKS[name]}" for gib in SIZES.values()]
            for runner, told in (
                ("base", (f"{what}, {name}", "7.3.4")),
                ("series", ("", "series")),
            ):
                cells = (tell_figure(row, runner) if find(row) else "-" for row in sizes)
                rows.append((*told, *cells))
    return rows


def list_blocks(what: str, before: str, after: int) -> list[Row]:
    """Return what a patch of hotplug-memmap gives; before is a FIGURE."""
    rows = {size: f"{what}:64:{BLOCKS[size]}" for size in ("128 MiB", "2 GiB")}
    figures = f"{before} peer@hotplug-memmap-{after}"
    return make_grid("64 GiB, blocks of|before|after", rows, figures)


def list_hotplug_steps() -> list[Row]:
    steps = {"7.3.4": "base@hotplug-memmap-1"}
    # They ran before there were patches 1 and 2.
    for told, number in (("3", 1), ("3 and 4", 2), ("3 to 5", 3), ("3 to 6", 4), ("3 to 8", 6)):
        steps[f"with {told}"] = f"peer@hotplug-memmap-{number}"
    rows = {what: f"{what}:64:b128" for what in ("online", "offline")}
    return turn(make_grid("|".join(["", *steps]), rows, " ".join(steps.values())))


def list_vmemmap(before: int, after: int, parts: str) -> list[Row]:
    """Return what a patch of vmemmap gives; a step is the number of a patch, 0 without any."""
    figures = (f"{one}:peer@vmemmap-{before}>{one}:peer@vmemmap-{after}" for one in parts.split())
    # What order 0 has is not populated in bulk.
    rows = {name: row for name, row in IN_RAM.items() if after != 8 or name != "order 0"}
    return make_grid(f"|{parts.replace(' ', '|')}", rows, " ".join(figures))


def list_counts() -> list[Row]:
    rows: list[Row] = [("16 GiB, in RAM", "", *IN_RAM)]
    for name, what in (("TLB flushes", "flushes"), ("locks", "locks")):
        figures = f"{what}:base@vmemmap-8 {what}:series@vmemmap-8"
        _, before, after = turn(make_grid("|b|a", IN_RAM, figures))
        rows += [(name, "before", *before[1:]), ("", "after", *after[1:])]
    return rows


def list_demotion() -> list[Row]:
    """Return the us of a folio of 2 MiB, geometric means over the sizes of other data."""
    rows: list[Row] = [("", "before", "this patch")]
    for zeroed in (1, 0):
        found = [one for one in select_folios(NEWEST, zeroed) if one["other_kib"]]
        cells = (tell_folios(found, runner, "copy", 0.512) for runner in ("base", "series"))
        rows.append((f"init_on_alloc={zeroed}", *cells))
    return rows


def list_steps() -> list[Row]:
    """Return what leaving the zeroes out gives, and then streaming."""
    rows: list[Row] = [("", "move", "other data", "at once")]
    for name, zeroed, runner in (
        ("zeroed, copied (today, init_on_alloc=1)", 1, "base"),
        ("copied (today, init_on_alloc=0)", 0, "base"),
        ("streamed (this series)", 1, "series"),
    ):
        found = select_folios(NEWEST, zeroed)
        beside = [one for one in found if one["other_kib"]]
        itself = [one for one in found if not one["other_kib"]]
        cells = [tell_folios(beside, runner, "copy", 0.512), tell_folios(beside, runner, "read")]
        rows.append((name, *cells, tell_folios(itself, runner, "read", 32.768)))
    return rows


def tell_folios(found: Sequence[Result], runner: str, what: str, factor: float = 1) -> str:
    mean = statistics.geometric_mean(find_time(one, runner, what) for one in found)
    return f"{mean * factor:.0f}" if factor != 1 else f"{mean:.1f}"


def list_mails() -> tuple[tuple[str, list[Row]], ...]:
    """Return the tables, and in which file of series/ each is, found by its first line."""
    orders = {str(order): f"fill:16:o{order}" for order in (*range(11), 18)}
    boot = {name: f"deferred:{gib}" for name, gib in SIZES.items()}
    tib = {
        "128 MiB, online": "online:1024:b128",
        "2 GiB, online": "online:1024:b2048",
        "2 GiB, offline": "offline:1024:b2048",
    }
    stores = make_grid(
        "|base|memcpy()|memcpy_nt()",
        {"": boot["64 GiB"]},
        "base fallback series",
    )
    return (
        (
            "zone-device-memmap/0000-*",
            make_grid(
                "order|7.3.4|v11|series|fill|v11 / series",
                FILLS,
                "base@v11 peer@v11 series@v11 bound@v11 peer/series@v11",
            ),
        ),
        (
            "zone-device-memmap/*-mm-copy-the-*",
            make_grid(
                "order|base|memcpy()|memcpy_nt()|fill",
                orders,
                "base fallback series bound",
                cpu=CORE,
            ),
        ),
        ("on-v11/0000-*", list_on_v11(patch=False)),
        ("on-v11/0001-*", list_on_v11(patch=True)),
        (
            "boot-memmap/0000-*",
            make_grid(
                "memory|base|series|fill|base / series",
                boot,
                "base series bound base/series",
            ),
        ),
        ("boot-memmap/0002-*", [row[1:] for row in stores]),
        ("reserved-memmap/0000-*", list_reserved("memblock", "CMA", "KHO")),
        ("reserved-memmap/0002-*", list_reserved("memblock", "KHO")),
        ("reserved-memmap/0003-*", list_reserved("CMA")),
        # Seconds of one core for 1 TiB.
        (
            "hotplug-memmap/0000-*",
            make_grid("blocks of|7.3.4|series", tib, "base series", find_seconds),
        ),
        ("hotplug-memmap/0000-*", list_hotplug()),
        ("hotplug-memmap/0000-*", list_hotplug_steps()),
        ("hotplug-memmap/0003-*", list_blocks("online", "base@hotplug-memmap-1", 1)),
        ("hotplug-memmap/0004-*", list_blocks("offline", "peer@hotplug-memmap-1", 2)),
        ("hotplug-memmap/0005-*", list_blocks("offline", "peer@hotplug-memmap-2", 3)),
        ("hotplug-memmap/0006-*", list_blocks("offline", "peer@hotplug-memmap-3", 4)),
        ("hotplug-memmap/0008-*", list_blocks("online", "peer@hotplug-memmap-4", 6)),
        (
            "vmemmap/0000-*",
            make_pairs(
                f"16 GiB||{'|'.join(PARTS)}|before / after",
                STEPPED,
                " ".join(PARTS),
                ("before", "after"),
                "@vmemmap-8",
            ),
        ),
        ("vmemmap/0000-*", list_counts()),
        ("vmemmap/0001-*", list_vmemmap(0, 1, "unmap flushes")),
        ("vmemmap/0002-*", list_vmemmap(1, 2, "unmap locks")),
        ("vmemmap/0006-*", list_vmemmap(2, 6, "unmap flushes")),
        ("vmemmap/0007-*", list_vmemmap(6, 7, "unmap")),
        ("vmemmap/0008-*", list_vmemmap(7, 8, "map unmap locks")),
        (
            "vmemmap/0009-*",
            make_grid(
                "|map|fill",
                {name: IN_RAM[name] for name in ("order 0", "2 MiB")},
                "map:peer@vmemmap-8>map:series@vmemmap-8 fill:series@vmemmap-8",
            ),
        ),
        ("demotion/0000-*", list_steps()),
        ("demotion/0002-*", list_demotion()),
    )


def fill_mail(text: str, table: Sequence[Row], mail: str) -> str:
    """Return a mail with its table made anew, found by the head; Raises UserError without it."""
    head = " +".join(re.escape(cell) for cell in table[0])
    filled, found = re.subn(
        rf"^ +{head}\n(?: .+\n)*", lambda _: align_rows(table), text, flags=re.M
    )
    if found != 1:
        raise UserError(
            f"{mail}: {found} tables begin with {' '.join(table[0])!r}, not one: write that line"
        )
    return filled


def make_mails() -> dict[Path, str]:
    """Return what each mail with a table has to hold; Raises UserError without either."""
    made: dict[Path, str] = {}
    for name, table in list_mails():
        found = [*SERIES.glob(name)]
        if len(found) != 1:
            raise UserError(
                f"{len(found)} patches are series/{name}, not one: "
                "mend the numbers in list_mails() of review/mails.py, then make export"
            )
        mail = found[0]
        text = made.get(mail) or mail.read_text()
        made[mail] = fill_mail(text, table, str(mail.relative_to(SERIES)))
    return made


def write_mails(_: Options) -> None:
    write_changed(make_mails())


if __name__ == "__main__":
    run_stage(write_mails)
