# SPDX-License-Identifier: GPL-2.0
"""The patches in series/, and made-up ones, read as mail."""

from pathlib import Path

import pytest
from support import PATCHES, name_of

from review import lint


def complaints(mail: str) -> list[str]:
    """Return what is wrong with a patch as mail."""
    return [*lint.judge_subject(mail), *lint.judge_tags(mail)]


GOOD = (
    "From 0000 Mon Sep 17 00:00:00 2001\nFrom: A <a@example.org>\n"
    "Subject: [PATCH 1/2] mm: add a subject that goes on\n over the line\n\nBecause.\n---\n"
)


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ("", "", []),
        (
            "Because.",
            "Because.\n\nSigned-off-by: A <a@example.org>",
            ["tag that nobody gave: Signed-off-by:"],
        ),
        ("over the line", "over the line " + "x" * 50, ["subject of 95 columns"]),
        ("over the line", "over the line.", ["subject ends with a full stop"]),
        ("mm: add", "add", ["subject without a prefix"]),
        ("mm: add", "mm, lib: add", []),
        ("mm: add", "mm: Add", ["subject goes on in upper case: Add"]),
        ("mm: add", "mm: KUnit-test", []),
        ("mm: add", "x86/lib: Add", []),
        ("mm: add", "x86/lib: add", ["x86 subject goes on in lower case: add"]),
    ],
)
def test_lint(old: str, new: str, expected: list[str]) -> None:
    assert complaints(GOOD.replace(old, new) if old else GOOD) == expected


def test_there_are_patches() -> None:
    assert PATCHES


@pytest.mark.parametrize("patch", PATCHES, ids=name_of)
def test_patch_as_mail(patch: Path) -> None:
    assert complaints(patch.read_text()) == []
