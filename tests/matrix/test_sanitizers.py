# SPDX-License-Identifier: GPL-2.0
"""Sanitizer kernels: suites and rebinds bring no report, and the control brings the one it must."""

from pathlib import Path

import pytest
from support import Build

from checks import sanitizers
from harness.core import options
from harness.kernel import images, tree

pytestmark = [pytest.mark.full, pytest.mark.parametrize("name", sanitizers.CHECKERS)]


@pytest.fixture
def kernel(build: Build, name: str) -> images.Kernel:
    """The series' kernel with a checker."""
    return build("series", sanitizers.CHECKERS[name].config)


def test_suites(
    chosen: options.Options, trees: tree.Trees, kernel: images.Kernel, image: Path, name: str
) -> None:
    assert sanitizers.run_suites(chosen, sanitizers.CHECKERS[name], kernel, image, trees) > 0


def test_rebinds(
    chosen: options.Options, trees: tree.Trees, kernel: images.Kernel, image: Path, name: str
) -> None:
    assert sanitizers.rebind_devices(chosen, sanitizers.CHECKERS[name], kernel, image, trees)


def test_control(
    chosen: options.Options, trees: tree.Trees, kernel: images.Kernel, image: Path, name: str
) -> None:
    assert sanitizers.run_control(chosen, sanitizers.CHECKERS[name], kernel, image, trees) > 0
