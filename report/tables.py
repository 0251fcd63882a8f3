# SPDX-License-Identifier: GPL-2.0
"""`make tables`: write the tables of README and docs, each between two comments, and the picture.

Those of the patches are in review/mails.py. tests/unit/test_tables.py fails where a table is not
what the samples give.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.core import ROOT, Options, UserError, run_stage, say
from harness.kernel.export import COVER, is_rfc, read_subject
from harness.kernel.topics import list_files, list_topics
from report import rows
from report.picture import draw_races
from report.samples import RESULTS, Row

PICTURE = RESULTS / "orders.png"
COUNTED = ("flushes", "locks", "allocated")
# Binds of which docs/results.md shows the parts, by name.
PARTED = rows.BINDS | {
    "order 0, in RAM, init_on_alloc=0": "bind:64:ram:keep",
    "2 MiB, in RAM, init_on_alloc=0": "bind:64:o9:ram:keep",
}
MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end of table -->)", re.S)


def list_patches() -> list[Row]:
    """Return the topics, how many patches each has, and what its cover letter says it is."""
    told: list[Row] = [("topic", "patches", "what it does")]
    for topic in list_topics():
        what = f"{read_subject((topic / COVER).read_text())}{' (RFC)' * is_rfc(topic)}"
        told.append((f"`{topic.name}`", str(len(list_files(topic))), what))
    return told


def list_markdown() -> dict[str, list[Row]]:
    """Return the tables of the pages, by the names in their comments."""
    return {
        "gain": rows.list_gains(),
        "parts": rows.make_pairs(
            f"64 GiB||{', ms|'.join(rows.PARTS)}, ms|{'|'.join(COUNTED)}|base / series",
            PARTED,
            " ".join((*rows.PARTS, *COUNTED)),
            ("base", "series"),
        ),
        **{
            name: rows.list_cpus(shown, by_page=name not in ("bind", "plugged"))
            for name, shown in rows.SHOWN.items()
        },
        "reserved": rows.list_raced(
            rows.read_samples(rows.RESERVED, "reserved")["results"], by_page=True
        ),
        "demotion": rows.list_demotion(),
        "isolated": rows.list_isolated(),
        "threads": rows.list_threads(),
        "v11": rows.list_v11(),
        "topics": list_patches(),
    }


def format_markdown(table: Sequence[Row]) -> str:
    head, *others = table
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ["---"] * len(head), *others))


def make_pages() -> dict[Path, str]:
    """Return what each page with tables has to hold; Raises UserError on another table's name."""
    made = {}
    markdown = list_markdown()
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = page.read_text()
        named = {found[2] for found in MARKED.finditer(text)}
        if unknown := named - {*markdown}:
            names = f"{', '.join(sorted(unknown))}: they are {', '.join(markdown)}"
            raise UserError(f"{page.relative_to(ROOT)}: there is no table {names}")
        if named:
            made[page] = MARKED.sub(
                lambda found: f"{found[1]}{format_markdown(markdown[found[2]])}{found[3]}", text
            )
    return made


def write_changed(made: Mapping[Path, str]) -> None:
    """Write each file that does not hold this yet."""
    for file, text in made.items():
        if file.read_text() != text:
            file.write_text(text)
            say(f"{file.relative_to(ROOT)}: written")


def write_tables(_: Options) -> None:
    write_changed(make_pages())
    draw_races({cpu: rows.load(cpu) for cpu in rows.RUNS}, PICTURE)


if __name__ == "__main__":
    run_stage(write_tables)
