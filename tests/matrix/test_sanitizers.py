# SPDX-License-Identifier: GPL-2.0
"""Sanitizer kernels: suites and rebinds bring no report, and the control brings the one it must."""

import pytest
from support import Lab

from checks import sanitizers

RUNS = {
    "suites": sanitizers.run_suites,
    "rebinds": sanitizers.rebind_devices,
    "control": sanitizers.run_control,
}


@pytest.mark.full
@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", sanitizers.CHECKERS)
def test_sanitizer(lab: Lab, name: str, run: str) -> None:
    checker = sanitizers.CHECKERS[name]
    assert RUNS[run](lab.options, checker, lab.kernel("series", checker.config), lab.trees)
