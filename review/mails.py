# SPDX-License-Identifier: GPL-2.0
"""`make export`: the patches from the branch, with the tables of patches and cover letters.

They show the newest record, and what each patch gives. A table is found by its first line.
"""

import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from harness.core import Options, UserError, run_stage
from harness.kernel.export import export_series
from report.rows import (
    BINDS,
    NEWEST,
    PARTS,
    Figure,
    Pair,
    find_cost,
    find_seconds,
    list_costs,
    locate,
    locate_file,
    make_pairs,
    make_table,
    name_size,
    tell,
    tell_cost,
    tell_faster,
    tell_last,
    tell_part,
    tell_ratio,
)
from report.samples import Result, Row, align_rows, find_ratios, find_time
from report.tables import make_named, select_folios

ON_V11 = {
    "0 (nd_pmem)": "fill:100",
    "2 (mshv_vtl may)": "fill:16:o2",
    "9 (dax_pmem, 2 MiB)": "fill:100:o9",
    "18 (1 GiB)": "fill:100:o18",
    "9, deduplicated": "fill:100:o9:ram",
}
# The same, but for the order that only the increments on v11 are about.
FILLS = {name: row for name, row in ON_V11.items() if row != "fill:16:o2"}
SIZES = {"8 GiB": 8, "64 GiB": 64, "256 GiB": 256, "1 TiB": 1024}
BLOCKS = {"128 MiB": "b128", "256 MiB": "b256", "2 GiB": "b2048"}
BOOT = {name: f"deferred:{gib}" for name, gib in SIZES.items()}
# The steps of vmemmap ran with less memory.
STEPPED = {name: row.replace("64", "16", 1) for name, row in BINDS.items()}
IN_RAM = {name.removesuffix(", in RAM"): row for name, row in [*STEPPED.items()][1:]}
# The last patch of vmemmap but one: populating in bulk. Its peer lacks only the last one.
IN_BULK = 10


def list_fills() -> list[Row]:
    record = locate_file("v11")
    columns = list_costs(record, "7.3.4|v11|series|fill", "base|peer|series|bound")
    columns["v11 / series"] = partial(tell_faster, record, "peer", "series")
    return make_table("order", FILLS, columns)


def list_orders() -> list[Row]:
    record = locate_file("orders")
    columns = list_costs(record, "base|memcpy()|memcpy_nt()|fill", "base|fallback|series|bound")
    rows = {str(order): f"fill:16:o{order}" for order in (*range(11), 18)}
    return make_table("order", rows, columns)


def list_on_v11(this: str, more: Mapping[str, Figure] = {}) -> list[Row]:
    """Return v11 beside v11 with on-v11."""
    columns = list_costs(locate_file("v11"), "7.3.4|v11", "base|peer")
    columns |= list_costs(locate_file("on-v11"), f"{this}|fill", "peer|bound")
    return make_table("order", ON_V11, {**columns, **more})


def tell_on_v11(row: str) -> str:
    """Return how much on-v11 gains. These are two programs; what ran in both relates them."""
    over, under = (
        statistics.median(find_ratios(locate_file(name).need(row), "peer", "series"))
        for name in ("v11", "on-v11")
    )
    return f"{tell(over / under)}x"


def list_on_v11_patch() -> list[Row]:
    return [(row[0].partition(" (")[0], *row[1:]) for row in list_on_v11("this patch")]


def list_boot() -> list[Row]:
    record = locate(NEWEST)
    columns = list_costs(record, "base|series|fill", "base|series|bound")
    columns["base / series"] = partial(tell_faster, record, "base", "series")
    return make_table("memory", BOOT, columns)


def list_stores() -> list[Row]:
    columns = list_costs(locate(NEWEST), "base|memcpy()|memcpy_nt()", "base|fallback|series")
    return [row[1:] for row in make_table("", {"": BOOT["64 GiB"]}, columns)]


def list_reserved(*owners: str) -> list[Row]:
    """Return the ns per struct page of reserved memory, by who has it."""
    rows: list[Row] = [("reserved", "size", "7.3.4", "series", "fill", "7.3.4 / series")]
    for result in locate_file("reserved").list_results():
        if result.get("owner") in owners:
            costs = (tell(find_cost(result, one)) for one in ("base", "series", "bound"))
            faster = tell_ratio(result, "base", "series")
            rows.append((result["owner"], name_size(result), *costs, faster))
    return rows


def list_tib() -> list[Row]:
    """Return the seconds of one core for 1 TiB."""
    rows = {
        "128 MiB, online": "online:1024:b128",
        "2 GiB, online": "online:1024:b2048",
        "2 GiB, offline": "offline:1024:b2048",
    }
    columns = list_costs(locate(NEWEST), "7.3.4|series", "base|series", find_seconds)
    return make_table("blocks of", rows, columns)


def list_hotplug() -> list[Row]:
    """Return the costs of all blocks and sizes; - where one was not run."""
    record = locate(NEWEST)

    def tell_size(gib: int, runner: str, row: str) -> str:
        name = row.format(gib)
        return tell_cost(record, find_cost, runner, name) if record.find(name) else "-"

    rows = {
        f"{what}, {name}": f"{what}:{{}}:{BLOCKS[name]}"
        for what, names in (("online", [*BLOCKS]), ("offline", ["128 MiB", "2 GiB"]))
        for name in names
    }
    columns = {name: partial(tell_size, gib) for name, gib in SIZES.items()}
    return make_pairs("", rows, columns, ("7.3.4", "series"))


def step_hotplug(number: int) -> Figure:
    """Tell what the series takes up to a patch, or 7.3.4 if it is 0."""
    record = locate_file("hotplug-memmap", number or 1)
    return partial(tell_cost, record, find_cost, "peer" if number else "base")


def list_hotplug_steps() -> list[Row]:
    # They ran before there were patches 1 and 2.
    steps = {"7.3.4": 0, "with 3": 1, "with 3 and 4": 2, "with 3 to 5": 3}
    steps |= {"with 3 to 6": 4, "with 3 to 8": 6}
    rows = {what: f"{what}:64:b128" for what in ("online", "offline")}
    lines = [(name, *map(step_hotplug(number), rows.values())) for name, number in steps.items()]
    return [("", *rows), *lines]


def compare_blocks(what: str, before: int, after: int) -> list[Row]:
    """Return what a patch of hotplug-memmap gives, by the steps before and after it."""
    rows = {size: f"{what}:64:{BLOCKS[size]}" for size in ("128 MiB", "2 GiB")}
    columns = {"before": step_hotplug(before), "after": step_hotplug(after)}
    return make_table("64 GiB, blocks of", rows, columns)


def list_isolation() -> list[Row]:
    """Return what the last patch of hotplug-memmap gives, in seconds per TiB."""
    columns = list_costs(
        locate_file("isolation"), "before|after|fill", "peer|series|bound", find_seconds
    )
    rows = {
        f"{what}, {size}": f"{what}:64:{BLOCKS[size]}"
        for what in ("plug", "online")
        for size in ("128 MiB", "2 GiB")
    }
    return make_table("64 GiB, blocks of", rows, columns)


def compare_binds(before: int, after: int, parts: str) -> list[Row]:
    """Return what a patch of vmemmap gives; a step is the number of a patch, 0 without any."""

    def tell_step(what: str, row: str) -> str:
        steps = (locate_file("vmemmap", step) for step in (before, after))
        return " -> ".join(tell_part(record, what, "peer", row) for record in steps)

    columns = {what: partial(tell_step, what) for what in parts.split()}
    # What order 0 has is not populated in bulk.
    rows = {name: row for name, row in IN_RAM.items() if after != IN_BULK or name != "order 0"}
    return make_table("", rows, columns)


def list_template() -> list[Row]:
    """Return what the last patch of vmemmap gives."""
    record = locate_file("vmemmap", IN_BULK)

    def tell_map(row: str) -> str:
        return " -> ".join(tell_part(record, "map", one, row) for one in ("peer", "series"))

    columns: dict[str, Figure] = {
        "map": tell_map,
        "fill": partial(tell_part, record, "fill", "series"),
    }
    return make_table("", {name: IN_RAM[name] for name in ("order 0", "2 MiB")}, columns)


def list_binds() -> list[Row]:
    record = locate_file("vmemmap", IN_BULK)
    columns: dict[str, Pair] = {what: partial(tell_part, record, what) for what in PARTS}
    columns["before / after"] = partial(tell_last, record)
    return make_pairs("16 GiB", STEPPED, columns, ("before", "after"))


def list_counts() -> list[Row]:
    def tell_count(row: str, runner: str, what: str) -> str:
        return tell_part(locate_file("vmemmap", IN_BULK), what, runner, row)

    columns = {name: partial(tell_count, row) for name, row in IN_RAM.items()}
    counted = {"TLB flushes": "flushes", "locks": "locks"}
    return make_pairs("16 GiB, in RAM", counted, columns, ("before", "after"))


def list_demotion() -> list[Row]:
    """Return the us of a folio of 2 MiB, geometric means over the sizes of other data."""
    rows: list[Row] = [("", "before", "this patch")]
    for zeroed in (1, 0):
        beside, _ = select_folios(NEWEST, zeroed)
        cells = (tell_folios(beside, runner, "copy", 0.512) for runner in ("base", "series"))
        rows.append((f"init_on_alloc={zeroed}", *cells))
    return rows


def list_demotion_steps() -> list[Row]:
    """Return what leaving the zeroes out gives, and then streaming."""
    rows: list[Row] = [("", "move", "other data", "at once")]
    for name, zeroed, runner in (
        ("zeroed, copied (today, init_on_alloc=1)", 1, "base"),
        ("copied (today, init_on_alloc=0)", 0, "base"),
        ("streamed (this series)", 1, "series"),
    ):
        beside, itself = select_folios(NEWEST, zeroed)
        cells = [tell_folios(beside, runner, "copy", 0.512), tell_folios(beside, runner, "read")]
        rows.append((name, *cells, tell_folios(itself, runner, "read", 32.768)))
    return rows


def tell_folios(folios: Sequence[Result], runner: str, what: str, factor: float = 1) -> str:
    mean = statistics.geometric_mean(find_time(result, runner, what) for result in folios)
    return f"{mean * factor:.0f}" if factor != 1 else f"{mean:.1f}"


# The tables, and in which patches they are, by the start of its file's name.
TABLES: Sequence[tuple[str, Callable[[], list[Row]]]] = (
    ("zone-device-memmap/0000", list_fills),
    ("zone-device-memmap/0006", list_orders),
    ("on-v11/0000", lambda: list_on_v11("this", {"v11 / this": tell_on_v11})),
    ("on-v11/0001", list_on_v11_patch),
    ("boot-memmap/0000", list_boot),
    ("boot-memmap/0002", list_stores),
    ("reserved-memmap/0000", lambda: list_reserved("memblock", "CMA", "KHO")),
    ("reserved-memmap/0002", lambda: list_reserved("memblock", "KHO")),
    ("reserved-memmap/0003", lambda: list_reserved("CMA")),
    ("hotplug-memmap/0000", list_tib),
    ("hotplug-memmap/0000", list_hotplug),
    ("hotplug-memmap/0000", list_hotplug_steps),
    ("hotplug-memmap/0003", lambda: compare_blocks("online", 0, 1)),
    ("hotplug-memmap/0004", lambda: compare_blocks("offline", 1, 2)),
    ("hotplug-memmap/0005", lambda: compare_blocks("offline", 2, 3)),
    ("hotplug-memmap/0006", lambda: compare_blocks("offline", 3, 4)),
    ("hotplug-memmap/0008", lambda: compare_blocks("online", 4, 6)),
    ("hotplug-memmap/0009", list_isolation),
    ("vmemmap/0000", list_binds),
    ("vmemmap/0000", list_counts),
    ("vmemmap/0001", lambda: compare_binds(0, 1, "unmap flushes")),
    ("vmemmap/0003", lambda: compare_binds(2, 3, "unmap locks")),
    ("vmemmap/0008", lambda: compare_binds(3, 8, "unmap flushes")),
    ("vmemmap/0009", lambda: compare_binds(8, 9, "unmap")),
    ("vmemmap/0010", lambda: compare_binds(9, IN_BULK, "map unmap locks")),
    ("vmemmap/0011", list_template),
    ("demotion/0000", list_demotion_steps),
    ("demotion/0002", list_demotion),
)


def fill_mail(text: str, table: Sequence[Row], mail: str) -> str:
    """Return a mail with its table made anew, found by the head; Raises UserError without it."""
    head = " +".join(re.escape(cell) for cell in table[0])
    filled, count = re.subn(
        rf"^ +{head}\n(?: .+\n)*", lambda _: align_rows(table), text, flags=re.M
    )
    if count != 1:
        raise UserError(
            f"{mail}: {count} tables begin with {' '.join(table[0])!r}, not one: write that line"
        )
    return filled


def fill_mails(mails: Mapping[str, str]) -> dict[str, str]:
    """Return mails, by topic and file, with all tables made anew; Raises UserError without one."""
    filled = {**mails}
    for start, make in TABLES:
        names = [name for name in mails if name.startswith(f"{start}-")]
        if len(names) != 1:
            raise UserError(
                f"{len(names)} patches are series/{start}-*, not one: mend TABLES of "
                "review/mails.py, then make export"
            )
        filled[names[0]] = fill_mail(filled[names[0]], make_named(start, make), names[0])
    return filled


def export_filled(options: Options) -> None:
    export_series(options, fill=fill_mails)


if __name__ == "__main__":
    run_stage(export_filled)
