# SPDX-License-Identifier: GPL-2.0
"""What the kernel's own parser makes of a guest's console that is not all green."""

import re
from pathlib import Path

import pytest

from cells import boots
from harness.core import errors
from support import Builder

PLANNED = ["one", "two", "three"]
GREEN = ("1..3", "ok 1 - one", "# devices: dax0.0", "ok 2 - two", "ok 3 - three")


def write_console(*spoken: str, version: str = "KTAP version 1") -> str:
    """Return a console on which the kernel talks between the lines of guest/init."""
    lines = ["stage: namespaces are ready", version, *spoken, "done"]
    return "\n".join(
        f"[{n:5}.1] zdm: {line}\n[{n:5}.2] ok 9 - is no line of ours"
        for n, line in enumerate(lines)
    )


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where the console would be kept."""
    return tmp_path / "console.log"


def test_failed_check_with_diagnostics(builder: Builder, log: Path) -> None:
    why = ("# two: exit status 0, not 1", "# two: not ok 1 nd_pmem", "# three: not of two")
    console = write_console("1..3", "ok 1 - one", *why, "not ok 2 - two", "ok 3 - three")
    told = boots.judge(builder.trees.series, console, log, PLANNED)
    two = "\n".join(["two: FAIL", *why[:2]])
    assert told == {"one": "", "two": two, "three": "", boots.PLAN: ""}


# What the guest says, which checks it did not get to, and in what it did not keep to the plan.
PLANS: dict[str, tuple[tuple[str, ...], list[str], str]] = {
    "kept": (GREEN, [], ""),
    "last missing": (GREEN[:-1], ["three"], "three: not told of\nerrors that .*: 1"),
    "two missing": (
        GREEN[:2],
        ["two", "three"],
        "two: not told of\nthree: not told of\nerrors that .*: 2",
    ),
    "too long": (("1..4", *GREEN[1:]), [], "errors that .*: 1"),
    "too short": (("1..2", *GREEN[1:]), ["three"], "three: not told of\nerrors that .*: 1"),
    "unplanned at the end": ((*GREEN, "ok 4 - four"), [], "errors that .*: 1"),
    "unplanned between": (
        (*GREEN[:2], "ok 2 - four", "ok 3 - two", "ok 4 - three"),
        ["three"],
        "three: not told of\nfour: not planned\nerrors that .*: 1",
    ),
    "unplanned instead": (
        ("1..3", "ok 1 - one", "not ok 2 - four", "ok 3 - three"),
        ["two"],
        "two: not told of\nfour: not planned",
    ),
    "other order": (
        ("1..3", "ok 1 - two", "ok 2 - one", "ok 3 - three"),
        [],
        "told of: two, one, three\nplanned: one, two, three",
    ),
    "wrong number": (("1..3", "ok 1 - one", "ok 2 - two", "ok 4 - three"), [], "errors that .*: 1"),
}


@pytest.mark.parametrize("name", PLANS)
def test_plan(builder: Builder, log: Path, name: str) -> None:
    spoken, unreached, plan = PLANS[name]
    told = boots.judge(builder.trees.series, write_console(*spoken), log, PLANNED)
    assert re.fullmatch(plan, told.pop(boots.PLAN))
    assert told == {
        check: f"{check}: the guest did not get to this check" if check in unreached else ""
        for check in PLANNED
    }


@pytest.mark.parametrize(
    ("console", "times"), [(write_console(version="stage: other"), 0), (write_console() * 2, 2)]
)
def test_results_not_told_once(builder: Builder, log: Path, console: str, times: int) -> None:
    with pytest.raises(errors.UserError, match=f"began {times} times to tell results, not once"):
        boots.judge(builder.trees.series, console, log, PLANNED)
