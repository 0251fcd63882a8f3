# SPDX-License-Identifier: GPL-2.0
"""`make tables`: write the tables of README and docs from the figures in figures.py.

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
from harness.replay import figures
from harness.replay.figures import BINDS, CHANGE, ZEROING
from harness.replay.plot import draw_races
from harness.replay.samples import RESULTS, Row, align_rows

PICTURE = RESULTS / "replay.png"
MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end of table -->)", re.S)


def list_patches() -> list[Row]:
    """Return the topics, how many patches each has, and what its cover letter says it is."""
    rows: list[Row] = [("topic", "patches", "what it does")]
    for topic in list_topics():
        what = f"{read_subject((topic / COVER).read_text())}{' (RFC)' * is_rfc(topic)}"
        rows.append((f"`{topic.name}`", str(len(list_files(topic))), what))
    return rows


def list_markdown() -> dict[str, list[Row]]:
    """Return the tables of the pages, by the names in their comments."""
    return {
        "gain": figures.list_gains(),
        "replay": figures.list_replay(),
        "v11": figures.list_v11(),
        "boot": [*figures.list_zones("deferred"), *figures.list_zones("reserved")[1:]],
        "threads": figures.list_threads(),
        "online": figures.list_online(),
        "parallel": figures.list_parallel(),
        "small": figures.list_small(),
        "demotion": figures.list_demotion(),
        "isolated": figures.list_isolated(),
        "touched": figures.list_touched(),
        "bind": figures.list_bind(),
        "native": figures.list_native(),
        "topics": list_patches(),
    }


def format_markdown(rows: Sequence[Row]) -> str:
    head, *others = rows
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ["---"] * len(head), *others))


def list_mails() -> tuple[tuple[str, list[Row]], ...]:
    """Return the tables of mails, and in which file each is."""
    reserved = figures.list_short(figures.list_zones("reserved"))
    demotion = figures.list_brief(figures.list_demotion())
    return (
        ("zone-device-memmap/0000-*", figures.list_short(figures.list_replay())),
        ("zone-device-memmap/0000-*", figures.list_v11()),
        ("zone-device-memmap/*-x86-string-Implement-*", figures.list_isolated()),
        ("zone-device-memmap/*-mm-copy-the-*", figures.list_brief(figures.list_orders())),
        ("zone-device-memmap/*-mm-copy-the-*", figures.list_zeroed()),
        ("parallel-memmap/0000-*", figures.list_wall_clock()),
        ("parallel-memmap/0000-*", figures.list_brief(figures.list_small())),
        ("boot-memmap/0000-*", figures.list_short(figures.list_zones("deferred"))),
        ("boot-memmap/0000-*", figures.list_threads()),
        ("boot-memmap/0002-*", figures.list_stores()),
        ("reserved-memmap/0000-*", reserved),
        ("reserved-memmap/0001-*", reserved),
        ("online-memmap/0000-*", figures.list_short(figures.list_online())),
        ("demotion/0000-*", demotion),
        ("demotion/*-mm-copy-huge-folios-*", demotion),
        ("vmemmap/0000-*", figures.list_whole()),
        ("vmemmap/*-mm-do-not-zero-*", figures.list_part("populate", [*BINDS][:2], ZEROING)),
        ("vmemmap/*-Unmap-vmemmap-with-*", figures.list_part("unmap", [*BINDS], CHANGE)),
        (
            "vmemmap/*-walk-verify-and-*",
            figures.list_part("populate", [*BINDS][1:], CHANGE, locks=True),
        ),
    )


def fill_mail(text: str, rows: Sequence[Row]) -> str:
    """Return the mail with the table that begins as rows made anew; Raises UserError without it."""
    head = " +".join(re.escape(cell) for cell in rows[0])
    filled, found = re.subn(rf"^ +{head}\n(?: .+\n)*", lambda _: align_rows(rows), text, flags=re.M)
    if found != 1:
        raise UserError(
            f"{found} tables begin with {' '.join(rows[0])!r}, not one: write that line"
        )
    return filled


def make_tables() -> dict[Path, str]:
    """Return what each file with a table has to hold."""
    made = {}
    markdown = list_markdown()
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        if MARKED.search(text := page.read_text()):
            made[page] = MARKED.sub(
                lambda found: f"{found[1]}{format_markdown(markdown[found[2]])}{found[3]}", text
            )
    for name, rows in list_mails():
        [mail] = SERIES.glob(name)
        made[mail] = fill_mail(made.get(mail) or mail.read_text(), rows)
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
    draw_races({cpu: figures.load(cpu, "replay") for cpu in figures.RUNS}, PICTURE)


if __name__ == "__main__":
    run_stage(write_tables)
