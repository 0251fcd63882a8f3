# SPDX-License-Identifier: GPL-2.0
"""The messages of compilers, in a form that can be compared."""

from pathlib import Path

from checks import warnings

SAID = """\
/b/source-x/series/mm/a.c:1:2: warning: unused variable 'i' [-Wunused-variable]
../../source-x/series/mm/a.c:7:2: warning: unused variable 'i' [-Wunused-variable]
In file included from mm/a.c:3:
Warning: /b/source-x/series/mm/a.c:9 function parameter 'n' not described in 'f'
/b/source-x/series/mm/a.c:1:2: note: here
"""


def test_warnings_are_read() -> None:
    assert warnings.find_warnings(SAID, Path("/b/source-x/series")) == [
        "Warning: mm/a.c function parameter 'n' not described in 'f'",
        *["mm/a.c: warning: unused variable 'i' [-Wunused-variable]"] * 2,
    ]


def test_moved_messages_are_equal() -> None:
    assert warnings.strip_lines(["x.c:12:3: kfree: reference preceded by free on line 9"]) == [
        "x.c: kfree: reference preceded by free on line"
    ]


def test_what_is_there_more_often_is_new() -> None:
    before, new = ["x.c: a", "x.c: a"], ["x.c: a", "y.c: b"]
    assert warnings.find_added(before, before) == []
    assert warnings.find_added(before, before + new) == new
