# SPDX-License-Identifier: GPL-2.0
"""Sanitizer kernels: suites and rebinds bring no report, and the control brings the one it must."""

import pytest

from cells import sanitizers
from support import Builder

RUNS = {
    "suites": sanitizers.run_suites,
    "rebinds": sanitizers.rebind_devices,
    "control": sanitizers.run_control,
}


@pytest.mark.full
@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", sanitizers.CHECKERS)
def test_sanitizer(builder: Builder, name: str, run: str) -> None:
    checker = sanitizers.CHECKERS[name]
    assert RUNS[run](
        builder.options, checker, builder.kernel("series", checker.config), builder.trees
    )
