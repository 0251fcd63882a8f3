# SPDX-License-Identifier: GPL-2.0
"""Both kernels boot with more RAM than is used, and then have the same memory.

The times do not matter.
"""

import dataclasses
from pathlib import Path

import pytest

from harness.bench import boot, measure
from harness.core import options
from harness.kernel import tree
from harness.vm import guest


@pytest.mark.parametrize(
    "gib, shapes",
    [
        pytest.param(16, ((2, 2),), id="16GiB"),
        pytest.param(64, boot.SHAPES, id="64GiB", marks=pytest.mark.full),
    ],
)
def test_memory_is_the_same(
    chosen: options.Options,
    trees: tree.Trees,
    tmp_path: Path,
    gib: int,
    shapes: tuple[tuple[int, int], ...],
) -> None:
    once = dataclasses.replace(chosen, gib=gib, boots=1)
    guest.need_memory(0, (), gib, gib - guest.RAM_GIB)
    runs = boot.boot_shapes(once, measure.make_setup(once), tmp_path, shapes)
    boot.check_zones(runs)
    assert [run.kernel for run in runs] == ["base", "series"] * len(shapes)
    for run in runs:
        # Most RAM was deferred, and is free: the low zones of 2 GiB are not deferred.
        most = 0.8 * gib * 2**18
        assert len(run.boot.deferred) == run.nodes
        assert run.boot.count_deferred() > most and run.boot.free > most
