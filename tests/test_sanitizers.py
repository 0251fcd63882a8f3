# SPDX-License-Identifier: GPL-2.0
"""Kernels that check themselves: suites and rebinds without a report, and a report where there must be one."""

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import need
from checks import sanitizers
from harness import kernels, options, tree

Build = Callable[[str], kernels.Kernel]


@pytest.fixture(scope="module")
def build(chosen: options.Options, trees: tree.Tree) -> Build:
    """Build the series' kernel with a checker, once; skips where its compiler is missing."""

    @functools.cache
    def made(name: str) -> kernels.Kernel:
        flavour = sanitizers.CHECKERS[name].flavour
        need(flavour.tools.missing())
        return kernels.kernel(chosen, "series", trees.series, flavour)

    return made


@pytest.mark.full
@pytest.mark.parametrize("name", sanitizers.CHECKERS)
def test_builds(build: Build, name: str) -> None:
    assert build(name).release.endswith(f"-series+{name}")


@pytest.mark.full
@pytest.mark.parametrize("name", sanitizers.CHECKERS)
def test_suites(chosen: options.Options, trees: tree.Tree, build: Build, image: Path, name: str) -> None:
    assert sanitizers.suites(chosen, sanitizers.CHECKERS[name], build(name), image, trees.series) > 0


@pytest.mark.full
@pytest.mark.parametrize("name", sanitizers.CHECKERS)
def test_rebinds(chosen: options.Options, build: Build, image: Path, name: str) -> None:
    checker = sanitizers.CHECKERS[name]
    found = sanitizers.rebinds(chosen, checker, build(name), image)
    assert [len(times.memmap) for times in found.values()] == [checker.rebinds] * 2


@pytest.mark.full
@pytest.mark.parametrize("name", sanitizers.CHECKERS)
def test_control(chosen: options.Options, trees: tree.Tree, build: Build, image: Path, name: str) -> None:
    assert sanitizers.control(chosen, sanitizers.CHECKERS[name], build(name), image, trees.series) > 0


@pytest.mark.parametrize(
    ("line", "passed"),
    [
        ("[    6.738983]         ok 1 threads=2", True),
        ("[    6.738983]         not ok 1 threads=2", False),
        ("[    6.738983]         ok 1 threads=8 # SKIP not enough CPUs", False),
        ("[    6.738983]     ok 1 test_memcpy_nt", False),
    ],
)
def test_passed_once(line: str, passed: bool) -> None:
    assert sanitizers.passed_once(f"[    6.7]         # threads=1\n{line}\n[    6.8] done\n") is passed
