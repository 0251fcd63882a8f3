# SPDX-License-Identifier: GPL-2.0
"""The tables of README, docs and patches are what the samples in results/ give."""

import json
from pathlib import Path

import pytest

from harness.core import ROOT, UserError
from harness.kernel.topics import SERIES
from report import rows, tables
from report.samples import RESULTS, Record, read_samples
from review import mails

MAILS = {f"{path.parent.name}/{path.name}": path.read_text() for path in SERIES.glob("*/*.patch")}
FILLED = {SERIES / name: text for name, text in mails.fill_mails(MAILS).items()}
PAGES = tables.make_pages() | FILLED
ROWS = [("order", "base"), ("9", "3.44"), ("18", "12.21")]
MAIL = "Times:\n\n  order  base\n  9      3.40\n\nNo more.\n"


@pytest.mark.parametrize("file", PAGES, ids=lambda file: str(file.relative_to(ROOT)))
def test_table_is_what_the_samples_give(file: Path) -> None:
    assert file.read_text() == PAGES[file], "run make tables, or make export for series/"


def test_every_record_is_explained() -> None:
    folders = [path for path in RESULTS.iterdir() if path.is_dir()]
    assert [path for path in folders if not (path / "README.md").exists()] == []


def test_table_of_a_mail_is_replaced() -> None:
    filled = mails.fill_mail(MAIL, ROWS, "a")
    assert filled == "Times:\n\n  order   base\n  9       3.44\n  18     12.21\n\nNo more.\n"
    # A diffstat right below it stays.
    filled = mails.fill_mail("  order  base\n  9  1\n---\n mm/a.c | 2 +-\n", ROWS, "a")
    assert filled.endswith("12.21\n---\n mm/a.c | 2 +-\n")


@pytest.mark.parametrize("mail", ["Times:\n", MAIL + MAIL])
def test_mail_without_its_table_is_refused(mail: str) -> None:
    with pytest.raises(UserError, match="^a: . tables begin with 'order base', not one"):
        mails.fill_mail(mail, ROWS, "a")


def test_table_without_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "TABLES", {"parts": lambda: ROWS})
    with pytest.raises(UserError, match="^README.md: there is no table .*gain.*: they are parts$"):
        tables.make_pages()


def test_patch_of_a_table_that_is_gone_is_named() -> None:
    """Before anything is written: test_tree.py."""
    others = {name: text for name, text in MAILS.items() if "/0006-mm-copy" not in name}
    with pytest.raises(UserError, match="^0 patches are series/zone-device-memmap/0006-[*], not"):
        mails.fill_mails(others)


def test_samples_that_lack_something_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("report.samples.RESULTS", tmp_path)
    with pytest.raises(UserError, match="^results/tables.toml names a/memmap, but: "):
        Record("a/memmap").need("bind:8")
    result = {"row": "bind:8", "returns": "safe", "runs": []}
    for name, text in {"cut": "{", "b": json.dumps({"results": [result]})}.items():
        (tmp_path / f"{name}.json").write_text(text)
    with pytest.raises(UserError, match="^results/tables.toml names cut, but: "):
        read_samples("cut")
    with pytest.raises(UserError, match="^results/b.json has no row bind:64, which a table shows"):
        rows.tell_cost(Record("b"), rows.find_cost, "base", "bind:64")
    with pytest.raises(UserError, match="^the samples of table x are not as results/tables.toml"):
        tables.make_named("x", lambda: rows.list_raced(Record("b").list_results()))
