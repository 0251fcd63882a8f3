# SPDX-License-Identifier: GPL-2.0
"""What a console tells of the checks in the guest."""

from checks import robustness


def test_checks_of_a_console() -> None:
    told = "stage: up", "check a: ok", "exit status 0, not 1", "check b: FAILED", "check c", "done"
    text = "\n".join(f"[    1.0] zdm: {line}" for line in told)
    assert robustness.read_checks(text) == {
        "a": robustness.Check(True, ("stage: up",)),
        "b": robustness.Check(False, ("exit status 0, not 1",)),
    }
