# SPDX-License-Identifier: GPL-2.0
"""`make tables`: write the tables of README and docs from the rows in rows.py and mails.py.

Those of the patches are written by `make export`, which alone writes series/: by this, with the
word series.

A table of Markdown stands between two comments, and that of a patch or cover letter is found by its
first line. tests/unit/test_tables.py fails where one is not what the samples give.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.core import ROOT, Options, UserError, run_stage, say
from harness.kernel.export import COVER, is_rfc, read_subject
from harness.kernel.topics import SERIES, list_files, list_topics
from report import rows
from report.mails import BINDS, list_mails
from report.picture import draw_races
from report.samples import RESULTS, Row, align_rows

PICTURE = RESULTS / "orders.png"
COUNTED = ("flushes", "locks", "allocated")
# Binds of which docs/results.md shows the parts, by name.
PARTED = BINDS | {
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
            name: rows.list_cpus(shown, by_page=name != "bind")
            for name, shown in rows.SHOWN.items()
        },
        "demotion": rows.list_demotion(),
        "isolated": rows.list_isolated(),
        "threads": rows.list_threads(),
        "v11": rows.list_v11(),
        "topics": list_patches(),
    }


def format_markdown(table: Sequence[Row]) -> str:
    head, *others = table
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ["---"] * len(head), *others))


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


def make_tables() -> dict[Path, str]:
    """Return what each file with a table has to hold; Raises UserError where one has no table."""
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
    for name, table in list_mails():
        [mail] = SERIES.glob(name)
        text = made.get(mail) or mail.read_text()
        made[mail] = fill_mail(text, table, str(mail.relative_to(SERIES)))
    return made


def write_tables(_: Options) -> None:
    """Write those of the pages and the picture of all CPUs, or those of the mails."""
    mails = sys.argv[1:] == ["series"]
    for file, text in make_tables().items():
        if file.is_relative_to(SERIES) == mails and file.read_text() != text:
            file.write_text(text)
            say(f"{file.relative_to(ROOT)}: written")
    if mails:
        return
    draw_races({cpu: rows.load(cpu) for cpu in rows.RUNS}, PICTURE)


if __name__ == "__main__":
    run_stage(write_tables)
