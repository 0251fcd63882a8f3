# SPDX-License-Identifier: GPL-2.0
"""What is made of a guest's checks that are not all green."""

from pathlib import Path

import pytest

from cells.boots import judge

ONE, TWO, THREE = "ok 1 - one", "ok 2 - two", "ok 3 - three"
WHY = ("# two: exit status 0, not 1", "# two: not ok 1 nd_pmem")
# What the guest says, and what judge() says of it.
PLANS: dict[str, tuple[tuple[str, ...], list[str]]] = {
    "kept": (("1..3", ONE, "# devices: dax0.0", TWO, THREE), []),
    "failed and skipped": (
        ("1..3", ONE, *WHY, "# two-b: not of two", "not ok 2 - two", f"{THREE} # SKIP why"),
        [*WHY, "not ok 2 - two", f"{THREE} # SKIP why"],
    ),
    "two missing": (("1..3", ONE), ["1 checks told of, planned: 1..3"]),
    "told twice": (
        ("1..3", ONE, TWO, "ok 3 - two", "ok 4 - three"),
        ["4 checks told of, planned: 1..3"],
    ),
    "wrong number": (("1..3", ONE, TWO, "ok 4 - three"), ["ok 4 - three"]),
    "no check": (("1..0",), ["0 checks told of, planned: none"]),
    "no plan": ((ONE,), ["1 checks told of, planned: none"]),
    "two plans": (("1..1", ONE, "1..1"), ["1 checks told of, planned: 1..1, 1..1"]),
}


@pytest.mark.parametrize("name", PLANS)
def test_plan(name: str) -> None:
    spoken, told = PLANS[name]
    # The kernel talks between the lines of guest/init.
    console = "\n".join(f"[ 1.1] zdm: {line}\n[ 1.2] ok 9 - is not ours" for line in spoken)
    assert judge(console, Path("log")).splitlines() == told + ["(whole console: log)"] * bool(told)
