# SPDX-License-Identifier: GPL-2.0
"""The sets that `make outbox` writes: by whom, to whom, with what, and what stops it."""

import dataclasses
import shutil
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import pytest

from harness.core import command, errors, options
from harness.core.cache import digest
from harness.kernel import tree
from review import outbox
from support import read_mail

Write = Callable[..., list[Path]]
AUTHOR = "Jörg O'Tester <joerg@example.org>"
# Stands in for the kernel's script where there is no kernel.
MAINTAINER = """#!/bin/sh
case "$*" in
*--no-l*--no-r*) echo 'A Maintainer <a@example.org>' ;;
*--no-m*) printf '%s\\n' joerg@example.org list@example.org ;;
esac
"""
COVER = "0000-mm-improve-lines.eml"


@pytest.fixture
def write(toy_options: options.Options, toy_series: Path) -> Write:
    """Run the stage on the toy, with more options."""
    script = tree.apply_series(toy_options, toy_series).series / "scripts/get_maintainer.pl"
    script.parent.mkdir()
    script.write_text(MAINTAINER)
    script.chmod(0o755)
    return lambda **more: outbox.run_outbox(
        dataclasses.replace(toy_options, author=AUTHOR, **more), toy_series
    )


@pytest.mark.parametrize(
    "author", ["mail@example.org", "Name <mail>", "Name <a@b.c>\nSigned-off-by: B <b@b.c>"]
)
def test_malformed_author(author: str) -> None:
    told = 'is not of the form "Name <mail>", without commas and quotes: say who sends the patches'
    with pytest.raises(errors.UserError, match=told) as raised:
        outbox.read_author(author)
    assert "\n" not in str(raised.value)


def read_all(folder: Path) -> list[EmailMessage]:
    return [read_mail(file) for file in sorted(folder.glob("*.eml"))]


def test_set(write: Write, toy: Path, toy_series: Path) -> None:
    before = {file: file.read_bytes() for file in toy_series.rglob("*.patch")}
    first, second = write()
    assert sorted(file.name for file in first.iterdir()) == [
        COVER, "0001-mm-improve-line-3.eml", "0002-mm-improve-line-9.eml"]  # fmt: skip
    assert [file.name for file in second.iterdir()] == ["0001-mm-improve-line-15.eml"]
    mails = read_all(first)
    for number, mail in enumerate(mails):
        assert str(mail["From"]) == AUTHOR
        assert str(mail["To"]) == "A Maintainer <a@example.org>"
        assert str(mail["Cc"]) == "list@example.org"
        assert str(mail["Subject"]).startswith(f"[PATCH {number}/2] ")
        assert not mail.defects
    cover, *texts = [mail.get_content() for mail in mails]
    assert "They were not good." in cover and "***" not in cover
    assert "Jörg O'Tester (2):\n      mm: improve line 3\n" in cover
    base = f"\nbase-commit: {command.git(toy, 'rev-parse', 'v7.3-rc7')}\n"
    [lone] = [mail.get_content() for mail in read_all(second)]
    assert base in cover and base in lone
    needed = f"\nprerequisite-change-id: a-{digest('a')}:v1\nprerequisite-patch-id: "
    assert needed in lone and needed not in cover
    assert "Applies on top of: a\n" in lone.split("\n---\n", 1)[1]
    assert all(f"\n\nSigned-off-by: {AUTHOR}\n---\n" in text for text in texts)
    assert "author@example.org" not in "".join(file.read_text() for file in first.iterdir())
    assert {file: file.read_bytes() for file in toy_series.rglob("*.patch")} == before
    tree = command.git(toy, "rev-parse", "HEAD^{tree}")
    command.git(toy, "checkout", "-q", "v7.3-rc7")
    command.git(toy, "am", "-q", *sorted(first.glob("*.eml"))[1:], *sorted(second.glob("*.eml")))
    assert command.git(toy, "log", "-1", "--format=%T %an <%ae>") == f"{tree} {AUTHOR}"


def test_cover_letters(write: Write, toy_series: Path) -> None:
    """One of an RFC, in words that git or b4 could take for theirs, and one of a single patch."""
    cover, text = toy_series / "a/0000-cover-letter.patch", "# 1\n\n  a table\n\nBase: b\nLink: c"
    shutil.copy(cover, toy_series / "b")
    told = cover.read_text().replace("[PATCH 0/2]", "[RFC PATCH 0/2]")
    cover.write_text(told.replace("They were not good.", text))
    first, second = write()
    assert read_mail(first / COVER).get_content().startswith(f"{text}\n---\n")
    subjects = [str(mail["Subject"]) for mail in read_all(first)]
    assert [subject.split("]")[0] for subject in subjects] == [
        f"[PATCH RFC {number}/2" for number in range(3)
    ]
    [mail] = read_all(second)
    assert "They were not good." in mail.get_content().split("\n---\n", 1)[1]


def test_settings_of_the_user_are_not_read(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = "[user]\nname = Mallory\n[b4]\nsend-series-cc = mallory@example.org\n"
    (tmp_path / ".gitconfig").write_text(settings)
    monkeypatch.setenv("HOME", str(tmp_path))
    mails = [file.read_text() for folder in write() for file in folder.iterdir()]
    assert mails and "mallory" not in "".join(mails).lower()


@pytest.mark.parametrize(
    "script, told",
    [
        ("#!/bin/sh\n", "get_maintainer.pl names nobody to send this to: look at MAINTAINERS"),
        ("#!/bin/sh\nexit 3\n", "b4 failed: CRITICAL: Running env -C .* failed:"),
    ],
)
def test_no_recipients(write: Write, toy_options: options.Options, script: str, told: str) -> None:
    [found] = toy_options.build.glob("source-*/series/scripts/get_maintainer.pl")
    found.write_text(script)
    with pytest.raises(errors.UserError, match=told) as raised:
        write()
    assert "\n" not in str(raised.value)
    assert not list(toy_options.build.glob("outbox/*"))


def test_several_patches_without_a_cover_letter(
    write: Write, toy_series: Path, tmp_path: Path
) -> None:
    (toy_series / "a/0000-cover-letter.patch").unlink()
    told = "a has several patches and no cover letter: write 0000-cover-letter.patch there"
    with pytest.raises(errors.UserError, match=told):
        write()
    assert not (tmp_path / "build/outbox").exists()


def test_second_version(write: Write, toy_options: options.Options, toy_series: Path) -> None:
    """What b4 tagged as sent is what the next version is compared with; the other topic stays."""
    first, _ = write()
    [tree] = toy_options.build.glob("source-*/outbox")
    command.git(tree, "checkout", "-q", "b4/a")
    tag = command.git(tree, "config", "branch.b4/a.b4-tracking")
    command.git(tree, "config", "branch.b4/a.b4-tracking", tag.replace('n": 1', 'n": 2'))
    about = (
        f"a\n\nbase-commit: {command.git(tree, 'rev-parse', 'HEAD~2')}\nchange-id: a-{digest('a')}"
    )
    command.git(tree, "tag", "-a", "-m", about, f"sent/a-{digest('a')}-v1")
    patch = toy_series / "a/0002-mm-improve-line-9.patch"
    patch.write_text(patch.read_text().replace("better 9", "best 9"))
    second, other = write()
    assert (first.name, second.name, other.name) == ("a-v1", "a-v2", "b-v1")
    cover = (second / COVER).read_text()
    assert "Subject: [PATCH v2 0/2] mm: improve lines" in cover
    assert "Range-diff versus v1:\n" in cover and "-+better 9;" in cover and "++best 9;" in cover
    assert "++Signed-off-by" not in cover
    [lone] = other.glob("*.eml")
    assert f"prerequisite-change-id: a-{digest('a')}:v2\n" in lone.read_text()
    assert "Range-diff" not in lone.read_text()
