# SPDX-License-Identifier: GPL-2.0
"""Both kernels are cross-compiled, booted and rebound on arm64. The times do not matter."""

import dataclasses
import os
import shutil

import pytest
from support import need

from harness.bench import measure
from harness.core import architectures, options
from harness.kernel import config, images, tree
from harness.vm import guest, initramfs
from harness.vm.devices import PAIR

REBINDS = 3
CONFIG = config.BOOTED["arm64"]
MACHINE = architectures.get_machine("arm64")


@pytest.fixture(scope="module")
def few(chosen: options.Options) -> options.Options:
    """The options for a short measurement on arm64; skips the test when a tool is missing."""
    files = (MACHINE.qemu, str(MACHINE.firmware))
    need(CONFIG.missing() + [file for file in files if not shutil.which(file, os.F_OK)])
    return dataclasses.replace(chosen, arch="arm64", accel="tcg", rebinds=REBINDS)


@pytest.mark.full
@pytest.mark.parametrize("name", ["base", "series"])
def test_boot_and_rebind(few: options.Options, trees: tree.Trees, name: str) -> None:
    kernel = images.build_kernel(few, name, getattr(trees, name), CONFIG)
    image = initramfs.make_initramfs(few, trees.series)
    guest.need_memory(few.gib, PAIR)
    log = few.build / f"test-arm64-{name}.log"
    found = measure.measure_boot(few, kernel, image, "tcg", log, f"test boot ({kernel.name})")
    assert {name: len(times.memmap) for name, times in found.items()} == dict.fromkeys(
        (device.name for device in PAIR), REBINDS
    )
