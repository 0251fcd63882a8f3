# SPDX-License-Identifier: GPL-2.0
"""Sanitizer kernels: suites and rebinds bring no report, and the control brings the one it must."""

import functools
from collections.abc import Callable
from pathlib import Path

import pytest
from support import need

from checks import sanitizers
from harness.core import options
from harness.kernel import images, tree

Build = Callable[[str], images.Kernel]
pytestmark = [pytest.mark.full, pytest.mark.parametrize("name", sanitizers.CHECKERS)]


@pytest.fixture(scope="module")
def build(chosen: options.Options, trees: tree.Trees) -> Build:
    """Return a function that builds the series' kernel with a checker, once.

    It skips the test when the compiler is missing.
    """

    @functools.cache
    def made(name: str) -> images.Kernel:
        config = sanitizers.CHECKERS[name].config
        need(config.missing())
        return images.build_kernel(chosen, "series", trees.series, config)

    return made


def test_builds(build: Build, name: str) -> None:
    assert build(name).release.endswith(f"-series+{name}")


def test_suites(
    chosen: options.Options, trees: tree.Trees, build: Build, image: Path, name: str
) -> None:
    assert sanitizers.run_suites(chosen, sanitizers.CHECKERS[name], build(name), image, trees) > 0


def test_rebinds(
    chosen: options.Options, trees: tree.Trees, build: Build, image: Path, name: str
) -> None:
    checker = sanitizers.CHECKERS[name]
    found = sanitizers.rebind_devices(chosen, checker, build(name), image, trees)
    assert [len(times.memmap) for times in found.values()] == [checker.rebinds] * len(
        checker.devices
    )


def test_control(
    chosen: options.Options, trees: tree.Trees, build: Build, image: Path, name: str
) -> None:
    assert sanitizers.run_control(chosen, sanitizers.CHECKERS[name], build(name), image, trees) > 0
