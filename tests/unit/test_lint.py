# SPDX-License-Identifier: GPL-2.0
"""The subjects and tags of the mails in series/, for which checkpatch.pl has no check."""

import re
from pathlib import Path

import pytest

from harness.kernel.export import read_subject
from support import MAILS, name_of

COLUMNS = 75
TAGS = re.compile(r"^(Signed-off|Reviewed|Acked|Tested)-by:", re.M)


def judge(mail: str) -> list[str]:
    """Return what is wrong with a mail: length, prefix or case of its subject, tags.

    After the prefix, x86 goes on in upper case (maintainer-tip.rst), all others in lower case.
    """
    found = [f"tag that nobody gave: {tag[0]}" for tag in TAGS.finditer(mail)]
    subject = read_subject(mail)
    prefix, colon, said = subject.rpartition(": ")
    first = said.split(" ")[0]
    found += [f"subject of {len(subject)} columns"] * (len(subject) > COLUMNS)
    found += ["subject ends with a full stop"] * subject.endswith(".")
    if not colon:
        found.append("subject without a prefix")
    elif prefix.startswith("x86"):
        found += [f"x86 subject goes on in lower case: {first}"] * first[:1].islower()
    elif re.fullmatch(r"[A-Z][a-z]+", first):
        found.append(f"subject goes on in upper case: {first}")
    return found


GOOD = (
    "From 0000 Mon Sep 17 00:00:00 2001\nFrom: A <a@example.org>\n"
    "Subject: [PATCH 1/2] mm: add a subject that goes on\n over the line\n\nBecause.\n---\n"
)


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ("Because.", "Because of this.", []),
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
def test_fault_is_found(old: str, new: str, expected: list[str]) -> None:
    assert judge(GOOD.replace(old, new)) == expected


def test_there_are_mails() -> None:
    assert MAILS


@pytest.mark.parametrize("mail", MAILS, ids=name_of)
def test_mail(mail: Path) -> None:
    assert judge(mail.read_text()) == []
