# SPDX-License-Identifier: GPL-2.0
"""KUnit reports with cases that did not pass."""

import json
from pathlib import Path

import pytest

from checks import kunit
from harness.core import errors


def report(
    tmp_path: Path, *suites: tuple[str, dict[str, str]], broken: int = 0
) -> tuple[Path, Path]:
    """Write a report as kunit.py does, and a log."""
    groups = [
        {
            "name": suite,
            "sub_groups": [],
            "test_cases": [{"name": name, "status": status} for name, status in cases.items()],
        }
        for suite, cases in suites
    ]
    made, log = tmp_path / "report.json", tmp_path / "test.log"
    made.write_text(
        json.dumps({"test_cases": [], "sub_groups": groups, "misc": {"errors": broken}})
    )
    log.write_text(
        "KTAP version 1\n    # two: EXPECTATION FAILED at x.c:1\n    want 1\n    not ok 2 two\n"
    )
    return made, log


def test_judge(tmp_path: Path) -> None:
    made, log = report(tmp_path, ("a", {"one": "PASS", "two": "PASS"}), ("b", {"three": "PASS"}))
    assert kunit.judge_report(made, ["b", "a"], "KUnit", log) == 3


@pytest.mark.parametrize(
    ("suites", "broken", "message"),
    [
        ([("a", {"one": "PASS", "two": "FAIL"})], 0, r"KUnit: a\.two: FAIL"),
        ([("a", {"one": "PASS", "two": "SKIP"})], 0, r"KUnit: a\.two: SKIP"),
        ([("a", {"two": "ERROR"})], 0, r"KUnit: a\.two: ERROR"),
        ([("a", {})], 0, "ran no suite instead of a"),
        ([], 0, "ran no suite instead of a"),
        ([("a", {"one": "PASS"}), ("b", {"one": "PASS"})], 0, "ran a, b instead of a"),
        ([("a", {"one": "PASS"})], 1, "or broke off"),
    ],
    ids=["failed", "skipped", "crashed", "no cases", "no suites", "other suite", "broken off"],
)
def test_judge_refuses(
    tmp_path: Path, suites: list[tuple[str, dict[str, str]]], broken: int, message: str
) -> None:
    made, log = report(tmp_path, *suites, broken=broken)
    with pytest.raises(errors.UserError, match=message) as caught:
        kunit.judge_report(made, ["a"], "KUnit", log)
    assert "two" not in message or caught.value.shown[0].endswith("EXPECTATION FAILED at x.c:1")
