# SPDX-License-Identifier: GPL-2.0
"""`make tables`: write the tables of README and docs, each between two comments, and the picture.

Those of the patches are in review/mails.py. tests/unit/test_tables.py fails where a table is not
what the samples give.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path

from harness.core import ROOT, Options, UserError, run_stage, say
from harness.kernel.export import COVER, is_rfc, read_subject
from harness.kernel.topics import list_files, list_topics
from report.picture import draw_races
from report.rows import (
    BINDS,
    CPUS,
    NEWEST,
    PARTS,
    SHOWN,
    WHATS,
    Pair,
    find_cost,
    list_raced,
    locate,
    locate_file,
    make_pairs,
    make_table,
    name_size,
    name_what,
    tell_gain,
    tell_last,
    tell_part,
    tell_ratio,
)
from report.samples import RESULTS, Record, Result, Row, find_mean, find_ratio, find_time

PICTURE = RESULTS / "orders.png"
# Binds of which docs/results.md shows the parts, by name.
PARTED = BINDS | {
    "order 0, in RAM, init_on_alloc=0": "bind:64:ram:keep",
    "2 MiB, in RAM, init_on_alloc=0": "bind:64:o9:ram:keep",
}
MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end of table -->)", re.S)
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
# Who moves folios, in rows of demotion.
PATHS = ("reclaim", "move_pages", "mbind", "offline")


def name_rows(what: str, sizes: Iterable[int], kinds: Iterable[str] = ("",)) -> list[str]:
    """Return the names of rows of the program memmap, of each kind in each size in GiB."""
    return [f"{what}:{gib}{kind}" for kind in kinds for gib in sizes]


# The rows of the tables with a column for the CPU, of those that were run there.
BY_CPU = {
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


def list_patches() -> list[Row]:
    """Return the topics, how many patches each has, and what its cover letter says it is."""
    rows: list[Row] = [("topic", "patches", "what it does")]
    for topic in list_topics():
        what = f"{read_subject((topic / COVER).read_text())}{' (RFC)' * is_rfc(topic)}"
        rows.append((f"`{topic.name}`", str(len(list_files(topic))), what))
    return rows


def list_whats() -> list[Row]:
    rows = [(f"`{what.name}`", what.runs, what.lacks) for what in WHATS.values()]
    return [("row", "what runs", "what is left out of it"), *rows]


def list_gains() -> list[Row]:
    """Return GAINS on the newest CPU as it boots, in s per TiB, at sizes that were measured."""

    def tell_size(gib: int, row: str) -> str:
        return tell_gain(locate(NEWEST), row.format(gib))

    columns = {f"{gib} GiB": partial(tell_size, gib) for gib in (8, 64, 256)}
    return make_table("seconds of one core per TiB, of", GAINS, columns)


def list_parts() -> list[Row]:
    """Return the parts of binds and what is counted in them, on the newest CPU as it boots."""
    record = locate(NEWEST)
    columns: dict[str, Pair] = {
        f"{what}{', ms' * (what in PARTS)}": partial(tell_part, record, what)
        for what in (*PARTS, "flushes", "locks", "allocated")
    }
    columns["base / series"] = partial(tell_last, record)
    return make_pairs("64 GiB", PARTED, columns, ("base", "series"))


def list_cpus(rows: Iterable[str]) -> list[Row]:
    """Return the rows of list_raced() for what each CPU has of some rows, with the CPU before."""
    rows = [*rows]
    results = [
        (cpu, result)
        for cpu, as_it_boots in product(CPUS, (True, False))
        for row in rows
        if (result := locate(cpu).find(row, as_it_boots=as_it_boots))
    ]
    head, *others = list_raced(result for _, result in results)
    lines = [(cpu, result["returns"], *line)
             for (cpu, result), line in zip(results, others, strict=True)]  # fmt: skip
    return [("CPU", "returns", *head), *lines]


def list_threads() -> list[Row]:
    """Return the wall clock of one and two threads, ms of base, series and fill, by CPU.

    Left out are devices that have their memmap, as the series has one thread for these.
    """
    runners = ("base", "series", "bound")
    rows: list[Row] = [("CPU", "what", "size", "base", "series", "fill", "base / series")]
    for cpu, row in product(CPUS, (*name_rows("deferred", (64, 100)), "fill:100:o9:ram")):
        record, names = locate(cpu), (f"{row}:t{threads}" for threads in (1, 2))
        results = [result for name in names if (result := record.find(name))]
        if not results:
            continue
        what = name_what(results[0]).partition(", threads")[0]
        times = (
            ", ".join(f"{find_time(result, runner):.0f}" for result in results)
            for runner in runners
        )
        ratios = (tell_ratio(result, "base", "series") for result in results)
        rows.append((cpu, what, name_size(results[0]), *times, ", ".join(ratios)))
    return rows


def list_v11() -> list[Row]:
    """Return the ns per struct page of Li Zhe's v11 beside base and series, devices of 100 GiB."""
    runners = ("base", "peer", "series", "bound")
    rows: list[Row] = [("CPU", "returns", "what", "base", "v11", "series", "fill", "v11 / series")]
    for (cpu, file), row in product(SHOWN["v11"].items(), BY_CPU["fill"]):
        record = Record(file)
        result = record.need(row)
        costs = (f"{find_cost(result, runner):.2f}" for runner in runners)
        faster = find_ratio(result, "peer", "series")
        rows.append((cpu, result["returns"], name_what(result), *costs, faster))
    return rows


def select_folios(cpu: str, zeroed: int, path: str = "reclaim") -> list[list[Result]]:
    """Return the results of folios of 2 MiB that a path moves, with init_on_alloc=1 or 0.

    Behind a move, the first read other data, the second what was moved. Older records have one
    path, which is as reclaim.
    """
    record = locate(cpu, "demotion")
    folios = [result for result in (record.list_results() if record.exists() else [])
              if result["order"] == 9 and result["init_on_alloc"] == zeroed
              and result.get("path", "reclaim") == path]  # fmt: skip
    return [[one for one in folios if bool(one["other_kib"]) == other] for other in (True, False)]


def list_folios() -> list[Row]:
    """Return base / series of copies of 2 MiB and of what is read after them, by CPU and path.

    Older records have no zeroing: they are as with init_on_alloc=0.
    """
    rows: list[Row] = [
        ("CPU", "path", "init_on_alloc", "move", "other data is read", "copies are read")
    ]
    for cpu, path, zeroed in product(CPUS, PATHS, (1, 0)):
        beside, itself = select_folios(cpu, zeroed, path)
        if not beside:
            continue
        cells = [find_mean(beside, "base", "series", what) for what in ("copy", "read")]
        cells.append(find_mean(itself, "base", "series", "read"))
        rows.append((cpu, path, str(zeroed), *cells))
    return rows


def list_copies() -> list[Row]:
    """Return the ns that an inline copy of 64 bytes takes, by memcpy() and by memcpy_nt()."""
    rows: list[Row] = [("apart", "aligned", "shifted by 8", "across two lines")]
    times = {
        (result["apart"], result["shifted"]): " -> ".join(
            f"{find_time(result, runner):.2f}" for runner in ("memcpy", "memcpy_nt")
        )
        for result in locate(NEWEST, "copy").list_results()
    }
    for apart in (64, 128, 256, 4096):
        rows.append((str(apart), *(times[apart, by] for by in (0, 8, 32))))
    return rows


# The tables of the pages, by the names in their comments.
TABLES: dict[str, Callable[[], list[Row]]] = {
    "gain": list_gains,
    "parts": list_parts,
    **{name: partial(list_cpus, shown) for name, shown in BY_CPU.items()},
    "reserved": lambda: list_raced(locate_file("reserved").list_results()),
    "demotion": list_folios,
    "isolated": list_copies,
    "threads": list_threads,
    "v11": list_v11,
    "topics": list_patches,
    "rows": list_whats,
}


def make_named(name: str, make: Callable[[], list[Row]]) -> list[Row]:
    """Return a table; Raises UserError where its samples lack something."""
    try:
        return make()
    except (LookupError, TypeError, ValueError) as error:
        raise UserError(
            f"the samples of table {name} are not as results/tables.toml says: "
            f"{type(error).__name__}, {error}"
        ) from None


def format_markdown(table: Sequence[Row]) -> str:
    head, *others = table
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ["---"] * len(head), *others))


def make_pages() -> dict[Path, str]:
    """Return what each page with tables has to hold; Raises UserError on another table's name."""
    pages = {}
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = page.read_text()
        names = {match[2] for match in MARKED.finditer(text)}
        if unknown := names - TABLES.keys():
            raise UserError(
                f"{page.relative_to(ROOT)}: there is no table {', '.join(sorted(unknown))}: "
                f"they are {', '.join(TABLES)}"
            )
        tables = {name: format_markdown(make_named(name, TABLES[name])) for name in names}
        if names:
            pages[page] = MARKED.sub(lambda match: match[1] + tables[match[2]] + match[3], text)  # noqa: B023
    return pages


def write_changed(pages: Mapping[Path, str]) -> None:
    """Write each file that does not hold this yet."""
    for file, text in pages.items():
        if file.read_text() != text:
            file.write_text(text)
            say(f"{file.relative_to(ROOT)}: written")


def write_tables(_: Options) -> None:
    write_changed(make_pages())
    draw_races({cpu: locate(cpu).list_results() for cpu in CPUS}, PICTURE)


if __name__ == "__main__":
    run_stage(write_tables)
