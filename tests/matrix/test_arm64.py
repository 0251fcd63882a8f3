# SPDX-License-Identifier: GPL-2.0
"""Both kernels are cross-compiled, booted and rebound on arm64. The times do not matter."""

import dataclasses

import pytest
from support import Build, need_machine

from harness.bench import measure
from harness.core import options
from harness.kernel import config, tree
from harness.vm import guest, initramfs
from harness.vm.devices import PAIR


@pytest.mark.full
@pytest.mark.parametrize("name", ["base", "series"])
def test_boot_and_rebind(
    chosen: options.Options, trees: tree.Trees, build: Build, name: str
) -> None:
    need_machine("arm64")
    few = dataclasses.replace(chosen, arch="arm64", accel="tcg", rebinds=3)
    kernel = build(name, config.BOOTED["arm64"])
    image = initramfs.make_initramfs(few, trees.series)
    guest.need_memory(few.gib, PAIR)
    log = few.build / f"test-arm64-{name}.log"
    # It raises an error unless each device was bound so often, and all else is as it should be.
    measure.measure_boot(few, kernel, image, "tcg", log, f"test boot ({kernel.name})")
