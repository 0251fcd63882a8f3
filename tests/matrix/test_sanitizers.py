# SPDX-License-Identifier: GPL-2.0
"""Sanitizer kernels: suites and rebinds bring no report, and the control brings the one it must."""

from pathlib import Path

import pytest
from support import Build

from checks import sanitizers
from harness.core import options
from harness.kernel import tree

RUNS = {
    "suites": sanitizers.run_suites,
    "rebinds": sanitizers.rebind_devices,
    "control": sanitizers.run_control,
}


@pytest.mark.full
@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", sanitizers.CHECKERS)
def test_sanitizer(
    chosen: options.Options, trees: tree.Trees, build: Build, image: Path, name: str, run: str
) -> None:
    checker = sanitizers.CHECKERS[name]
    assert RUNS[run](chosen, checker, build("series", checker.config), image, trees)
