# SPDX-License-Identifier: GPL-2.0
"""In the VM, helpers are used where they may be, and nothing complains, with lockdep watching."""

from pathlib import Path

import pytest

from checks import parallel
from harness.core import options
from harness.kernel import images, tree
from harness.vm import accel

TIMES = 10
REBINDS = 200
ALONE = ("bound_by_one_cpu", "bound_from_a_cpuset", "bound_nicely")


@pytest.fixture(scope="session")
def kernel(chosen: options.Options, trees: tree.Trees) -> images.Kernel:
    return images.build_kernel(chosen, "series", trees.series, parallel.CONFIG)


@pytest.mark.full
@pytest.mark.parametrize("cpus", [1, 2, 4])
def test_helpers(chosen: options.Options, kernel: images.Kernel, image: Path, cpus: int) -> None:
    how = accel.choose_accel(chosen, kernel, image)
    rebinds = REBINDS if cpus == 2 else 1
    helpers = parallel.boot_parallel(chosen, kernel, image, how, cpus, TIMES, rebinds).helpers
    assert helpers["a bind"] == [cpus - 1]
    assert [helpers[way] for way in ALONE] == [[0]] * len(ALONE)
    # The pool has a work for each possible CPU, so one of the two may get fewer.
    assert len(helpers["bound_at_once"]) == TIMES
    assert all(cpus - 1 <= count <= 2 * (cpus - 1) for count in helpers["bound_at_once"])
