# SPDX-License-Identifier: GPL-2.0
"""KUnit reports with cases that did not pass."""

from pathlib import Path

import pytest

from cells import ktap, kunit
from harness.core import errors

LOG = "KTAP version 1\n    # two: EXPECTATION FAILED at x.c:1\n    want 1\n    not ok 2 two\n"


def judge(tmp_path: Path, told: str, errors: int = 0) -> int:
    """Judge a report on two suites, of cases SUITE.CASE:STATUS."""
    cases = (word.partition(":") for word in told.split())
    found = ktap.Report(
        tuple((tuple(path.split(".")), status) for path, _, status in cases), errors
    )
    log = tmp_path / "test.log"
    log.write_text(LOG)
    return kunit.judge_report(found, ["b", "a"], "KUnit", log)


def test_judge(tmp_path: Path) -> None:
    assert judge(tmp_path, "a.one:PASS a.two:PASS b.three:PASS") == 3


@pytest.mark.parametrize(
    ("told", "broken", "message"),
    [
        ("a.one:PASS a.two:SKIP b.one:PASS", 0, r"KUnit: a\.two: SKIP"),
        ("", 0, "ran no suite instead of b, a"),
        ("a.one:PASS b.one:PASS", 1, "or broke off"),
    ],
    ids=["skipped", "no suites", "broken off"],
)
def test_judge_refuses(tmp_path: Path, told: str, broken: int, message: str) -> None:
    with pytest.raises(errors.UserError, match=message) as caught:
        judge(tmp_path, told, broken)
    assert "two" not in message or caught.value.shown[0].endswith("EXPECTATION FAILED at x.c:1")
