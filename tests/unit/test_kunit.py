# SPDX-License-Identifier: GPL-2.0
"""KUnit reports with cases that did not pass."""

from pathlib import Path

import pytest

from cells.kunit import judge_report
from harness.core import errors

LOG = "KTAP version 1\n    # two: EXPECTATION FAILED at x.c:1\n    want 1\n    not ok 2 two\n"


@pytest.mark.parametrize(
    ("status", "broken", "suites", "message"),
    [
        ("PASS", 0, ["a"], ""),
        ("SKIP", 0, ["a"], r"KUnit: a\.two: SKIP"),
        ("PASS", 0, ["b", "a"], "ran a instead of b, a"),
        ("PASS", 1, ["a"], "or broke off"),
    ],
)
def test_report(tmp_path: Path, status: str, broken: int, suites: list[str], message: str) -> None:
    log = tmp_path / "test.log"
    log.write_text(LOG)
    cases = [{"name": "one", "status": "PASS"}, {"name": "two", "status": status}]
    suite = {"name": "a", "test_cases": cases, "sub_groups": []}
    report = {"test_cases": [], "sub_groups": [suite], "misc": {"errors": broken}}
    if message:
        with pytest.raises(errors.UserError, match=message) as caught:
            judge_report(report, suites, "KUnit", log)
        assert "two" not in message or caught.value.shown[0] == "EXPECTATION FAILED at x.c:1"
    else:
        assert judge_report(report, suites, "KUnit", log) == 2
