# SPDX-License-Identifier: GPL-2.0
"""What the kernel's own parser makes of a guest's console that is not all green."""

import re
from pathlib import Path

import pytest

from cells import boots
from harness.core import errors
from support import Builder

ONE, TWO, THREE = "ok 1 - one", "ok 2 - two", "ok 3 - three"
WHY = ("# two: exit status 0, not 1", "# two: not ok 1 nd_pmem")
COUNTED = r".*/console\.ktap: {} errors in the plan or numbers"


def write_console(*spoken: str, version: str = "KTAP version 1") -> str:
    """Return a console on which the kernel talks between the lines of guest/init."""
    lines = ["stage: namespaces are ready", version, *spoken, "done"]
    return "\n".join(
        f"[{n:5}.1] zdm: {line}\n[{n:5}.2] ok 9 - is no line of ours"
        for n, line in enumerate(lines)
    )


# What the guest says, and what judge() says of it.
PLANS: dict[str, tuple[tuple[str, ...], str]] = {
    "kept": (("1..3", ONE, "# devices: dax0.0", TWO, THREE), ""),
    "failed and skipped": (
        ("1..3", ONE, *WHY, "# two-b: not of two", "not ok 2 - two", f"{THREE} # SKIP why"),
        "\n".join(["two: FAIL", *WHY, "three: SKIP", f"{THREE} # SKIP why"]),
    ),
    "two missing": (
        ("1..3", ONE),
        f"check 2, after one: not told of\ncheck 3, after one: not told of\n{COUNTED.format(2)}",
    ),
    "all missing": (("1..1",), f"check 1, after the plan: not told of\n{COUNTED.format(1)}"),
    "told twice": (("1..3", ONE, TWO, "ok 3 - two", "ok 4 - three"), COUNTED.format(1)),
    "wrong number": (("1..3", ONE, TWO, "ok 4 - three"), COUNTED.format(1)),
}


@pytest.mark.parametrize("name", PLANS)
def test_plan(builder: Builder, tmp_path: Path, name: str) -> None:
    spoken, told = PLANS[name]
    log = tmp_path / "console.log"
    assert re.fullmatch(told, boots.judge(builder.trees.series, write_console(*spoken), log))


@pytest.mark.parametrize(
    ("console", "told"),
    [
        (write_console(version="stage: other"), "began 0 times to tell results, not once"),
        (write_console("1..1", ONE) * 2, "began 2 times to tell results, not once"),
        (write_console("1..", ONE), "began to tell results without a plan"),
    ],
)
def test_results_not_told_once(builder: Builder, tmp_path: Path, console: str, told: str) -> None:
    with pytest.raises(errors.UserError, match=told):
        boots.judge(builder.trees.series, console, tmp_path / "console.log")
