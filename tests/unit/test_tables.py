# SPDX-License-Identifier: GPL-2.0
"""The tables of README, docs and patches are what the samples in results/ give."""

from pathlib import Path

import pytest

from harness.core import ROOT, UserError
from report import tables
from report.samples import RESULTS
from review import mails

MADE = tables.make_pages() | mails.make_mails()
ROWS = [("order", "base"), ("9", "3.44"), ("18", "12.21")]
MAIL = "Times:\n\n  order  base\n  9      3.40\n\nNo more.\n"


@pytest.mark.parametrize("file", MADE, ids=lambda file: str(file.relative_to(ROOT)))
def test_table_is_what_the_samples_give(file: Path) -> None:
    assert file.read_text() == MADE[file], "run make tables, or make export for series/"


def test_every_record_is_explained() -> None:
    told = (RESULTS / "README.md").read_text()
    folders = [path.name for path in RESULTS.iterdir() if path.is_dir()]
    assert [name for name in folders if told.count(f"`{name}`") != 1] == []


def test_table_of_a_mail_is_replaced() -> None:
    made = mails.fill_mail(MAIL, ROWS, "a")
    assert made == "Times:\n\n  order   base\n  9       3.44\n  18     12.21\n\nNo more.\n"
    # A diffstat right below it stays.
    made = mails.fill_mail("  order  base\n  9  1\n---\n mm/a.c | 2 +-\n", ROWS, "a")
    assert made.endswith("12.21\n---\n mm/a.c | 2 +-\n")


@pytest.mark.parametrize("mail", ["Times:\n", MAIL + MAIL])
def test_mail_without_its_table_is_refused(mail: str) -> None:
    with pytest.raises(UserError, match="^a: . tables begin with 'order base', not one"):
        mails.fill_mail(mail, ROWS, "a")


def test_table_without_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "list_markdown", lambda: {"parts": ROWS})
    with pytest.raises(UserError, match="^README.md: there is no table .*gain.*: they are parts$"):
        tables.make_pages()
