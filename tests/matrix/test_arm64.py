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

CONFIG = config.BOOTED["arm64"]
MACHINE = architectures.get_machine("arm64")


@pytest.mark.full
@pytest.mark.parametrize("name", ["base", "series"])
def test_boot_and_rebind(chosen: options.Options, trees: tree.Trees, name: str) -> None:
    files = (MACHINE.qemu, str(MACHINE.firmware))
    need(CONFIG.missing() + [file for file in files if not shutil.which(file, os.F_OK)])
    few = dataclasses.replace(chosen, arch="arm64", accel="tcg", rebinds=3)
    kernel = images.build_kernel(few, name, getattr(trees, name), CONFIG)
    image = initramfs.make_initramfs(few, trees.series)
    guest.need_memory(few.gib, PAIR)
    log = few.build / f"test-arm64-{name}.log"
    # It raises an error unless each device was bound so often, and all else is as it should be.
    measure.measure_boot(few, kernel, image, "tcg", log, f"test boot ({kernel.name})")
