# SPDX-License-Identifier: GPL-2.0
"""The sets that `make outbox` writes: by whom, to whom, with what, and what stops it."""

import shutil
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import pytest

from harness.core import command, errors, options
from harness.kernel import tree
from review import outbox
from support import read_mail

Write = Callable[[], list[Path]]
AUTHOR = "Jörg O'Tester <joerg@example.org>"
CONFIG = "[user]\nname = Jörg O'Tester\nemail = joerg@example.org\n"
# Stands in for the kernel's script where there is no kernel.
MAINTAINER = """#!/bin/sh
case "$*" in
*--no-l*--no-r*) echo 'A Maintainer <a@example.org>' ;;
*--no-m*) echo list@example.org ;;
esac
"""
COVER = "0000-mm-improve-lines.eml"


@pytest.fixture
def write(
    toy_options: options.Options, toy_series: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Write:
    """Run the stage on the toy, whose topics have the same cover letter, as somebody."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".gitconfig").write_text(CONFIG)
    shutil.copy(toy_series / "a/0000-cover-letter.patch", toy_series / "b")
    script = tree.apply_series(toy_options, toy_series).series / "scripts/get_maintainer.pl"
    script.parent.mkdir()
    script.write_text(MAINTAINER)
    script.chmod(0o755)
    return lambda: outbox.run_outbox(toy_options, toy_series)


def read_all(folder: Path) -> list[EmailMessage]:
    return [read_mail(file) for file in sorted(folder.glob("*.eml"))]


def test_cover_letter_of_an_rfc(write: Write, toy_series: Path) -> None:
    """In words that git or b4 could take for theirs."""
    cover, text = toy_series / "a/0000-cover-letter.patch", "# 1\n\n  a table\n\nBase: b\nLink: c"
    letter = cover.read_text().replace("[PATCH 0/2]", "[RFC PATCH 0/2]")
    cover.write_text(letter.replace("They were not good.", text))
    first, _ = write()
    assert read_mail(first / COVER).get_content().startswith(f"{text}\n\nApplies on")
    subjects = [str(mail["Subject"]) for mail in read_all(first)]
    assert [subject.split("]")[0] for subject in subjects] == [
        f"[PATCH RFC {number}/2" for number in range(3)
    ]


def test_nobody(write: Write, tmp_path: Path) -> None:
    (tmp_path / ".gitconfig").unlink()
    with pytest.raises(errors.UserError, match="set user.name and user.email by git config"):
        write()


def test_second_version(write: Write, toy_options: options.Options, toy_series: Path) -> None:
    """b4 has counted up, as it does when it has sent a topic; the change-ids stay."""
    first, _ = write()
    [tree] = toy_options.build.glob("source-*/outbox")
    tracking = command.git(tree, "config", "branch.b4/a.b4-tracking")
    command.git(tree, "config", "branch.b4/a.b4-tracking", tracking.replace('n": 1', 'n": 2'))
    patch = toy_series / "a/0002-mm-improve-line-9.patch"
    patch.write_text(patch.read_text().replace("better 9", "best 9"))
    again = write()
    assert [one.name for one in (first, *again)] == ["a-v1", "a-v2", "b-v1"]
    assert str(read_all(again[0])[0]["Subject"]) == "[PATCH v2 0/2] mm: improve lines"
    assert "+best 9;" in read_all(again[0])[2].get_content()
    ids = [str(read_all(folder)[0]["X-Change-ID"]) for folder in (first, again[0])]
    assert ids[0] == ids[1]
