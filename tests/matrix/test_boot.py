# SPDX-License-Identifier: GPL-2.0
"""Both kernels boot with more RAM than is used, and then have the same memory."""

import dataclasses
from pathlib import Path

import pytest
from support import Lab

from harness.bench import boot, measure
from harness.vm import guest

GIB = 64


@pytest.mark.full
def test_memory_is_the_same(lab: Lab, tmp_path: Path) -> None:
    once = dataclasses.replace(lab.options, ram_gib=GIB, boots=1)
    guest.need_memory(0, (), GIB, GIB - guest.RAM_GIB)
    runs = boot.boot_shapes(once, measure.make_setup(once), tmp_path)
    boot.check_zones(runs)
    assert [run.kernel for run in runs] == ["base", "series"] * len(boot.SHAPES)
    for run in runs:
        # Most RAM was deferred, and is free: the low zones of 2 GiB are not deferred.
        most = 0.8 * GIB * 2**18
        assert len(run.boot.deferred) == run.nodes
        assert run.boot.count_deferred() > most and run.boot.free > most
