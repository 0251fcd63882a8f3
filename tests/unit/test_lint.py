# SPDX-License-Identifier: GPL-2.0
"""The subjects and tags of the mails in series/, for which checkpatch.pl has no check."""

import re
from pathlib import Path

import pytest

from harness.kernel.export import read_subject
from support import MAILS, name_of

COLUMNS = 75
TAGS = re.compile(r"^(?:Signed-off|Reviewed|Acked|Tested)-by:", re.M)
# The last prefix, and how it goes on: below x86 in upper case (maintainer-tip.rst), and elsewhere
# in lower case, but for a name such as KUnit. No full stop at the end.
SUBJECT = re.compile(r"(?:x86.*: (?![a-z])|(?!x86).*: (?![A-Z][a-z]+ ))(?!.*: ).*[^.]")
GOOD = (
    "From 0000 Mon Sep 17 00:00:00 2001\nFrom: A <a@example.org>\n"
    "Subject: [PATCH 1/2] mm: add a subject that goes on\n over the line\n\nBecause.\n---\n"
)


def is_good(mail: str) -> bool:
    subject = read_subject(mail)
    fits = SUBJECT.fullmatch(subject) and len(subject) <= COLUMNS
    return bool(fits) and not TAGS.search(mail)


@pytest.mark.parametrize(
    "old, new, good",
    [
        ("Because.", "Because of this.", True),
        ("Because.", "Because.\n\nSigned-off-by: A <a@example.org>", False),
        ("over the line", "over the line " + "x" * 50, False),
        ("over the line", "over the line.", False),
        ("mm: add", "add", False),
        ("mm: add", "mm, lib: add", True),
        ("mm: add", "mm: Add", False),
        ("mm: add", "mm: KUnit-test", True),
        ("mm: add", "x86/lib: Add", True),
        ("mm: add", "x86/lib: add", False),
    ],
)
def test_fault_is_found(old: str, new: str, good: bool) -> None:
    assert is_good(GOOD.replace(old, new)) == good


@pytest.mark.parametrize("mail", MAILS, ids=name_of)
def test_mail(mail: Path) -> None:
    assert is_good(mail.read_text()), mail
