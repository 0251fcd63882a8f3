# SPDX-License-Identifier: GPL-2.0
"""The patches in series/, and made-up ones, read as mail."""

from pathlib import Path

import pytest
from support import PATCHES, name_of

from review import lint


def complaints(mail: str) -> list[str]:
    """Return what is wrong with a patch as mail."""
    return [*lint.judge_subject(mail), *lint.judge_body(mail), *lint.judge_tags(mail)]


GOOD = (
    "From 0000 Mon Sep 17 00:00:00 2001\nFrom: A <a@example.org>\n"
    "Subject: [PATCH 1/2] mm: add a subject that goes on\n over the line\n\nBecause.\n---\n"
    " mm/x.c | 1 +\n\ndiff --git a/mm/x.c b/mm/x.c\nnew file mode 100644\n"
    "--- /dev/null\n+++ b/mm/x.c\n@@ -0,0 +1,2 @@\n"
    "+// SPDX-License-Identifier: GPL-2.0\n+int x;\n"
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
        ("Because.", "Because " + "x" * 80, [f"line of 88 columns: Because {'x' * 80}"]),
        ("Because.", "", ["no message"]),
        ("Because.", "https://example.org/" + "x" * 80, []),
        (
            "+// SPDX-License-Identifier: GPL-2.0",
            "+//",
            ["new file without SPDX identifier: mm/x.c"],
        ),
        ("over the line", "over the line.", ["subject ends with a full stop"]),
        ("mm: add", "add", ["subject without a prefix"]),
        ("mm: add", "lib: add", ["prefix lib does not fit mm/x.c: mm(/[\\w-]+)?"]),
        ("mm: add", "mm/hugetlb: add", []),
        ("mm: add", "mm, mm/hugetlb: add", []),
        ("mm: add", "mm, lib: add", ["prefix mm, lib does not fit mm/x.c: mm(/[\\w-]+)?"]),
        ("mm: add", "mm: Add", ["subject goes on in upper case: Add"]),
        ("mm: add", "mm: KUnit-test", []),
        ("mm: add", "mm: adds", ["subject is not imperative: adds"]),
        ("mm: add", "mm: added", ["subject is not imperative: added"]),
        ("mm: add", "mm: adding", ["subject is not imperative: adding"]),
        ("mm: add", "mm: pass", []),
        ("mm/x.c", "arch/x86/x.c", ["prefix mm does not fit arch/x86/x.c: x86(/[\\w-]+)?"]),
        (
            "mm/x.c",
            "net/x.c",
            ["prefix mm does not fit net/x.c: review/lint.py does not know that folder"],
        ),
        ("mm/x.c", "MAINTAINERS", ["prefix mm does not fit MAINTAINERS: MAINTAINERS"]),
    ],
)
def test_lint(old: str, new: str, expected: list[str]) -> None:
    assert complaints(GOOD.replace(old, new) if old else GOOD) == expected


def test_lint_of_x86() -> None:
    mail = GOOD.replace("mm/x.c", "arch/x86/x.c").replace("mm: add", "x86/lib: Add")
    assert complaints(mail) == []
    assert complaints(mail.replace("Add", "add")) == ["x86 subject goes on in lower case: add"]


def test_there_are_patches() -> None:
    assert PATCHES


@pytest.mark.parametrize("patch", PATCHES, ids=name_of)
def test_patch_as_mail(patch: Path) -> None:
    assert complaints(patch.read_text()) == []
