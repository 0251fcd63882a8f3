# SPDX-License-Identifier: GPL-2.0
"""Both kernels on arm64, where memcpy_nt() is memcpy(): cross-compiled, booted and rebound in the VM; no time is judged."""

import dataclasses
import shutil
from pathlib import Path

import pytest
from support import need

from harness.bench import measure
from harness.core import options
from harness.kernel import config, images, tree
from harness.vm import guest, initramfs

REBINDS = 3
TOOLS = config.ARM64.tools
QEMU, FIRMWARE = guest.MACHINES["arm64"].qemu, str(guest.MACHINES["arm64"].firmware)


@pytest.fixture(scope="module")
def few(chosen: options.Options) -> options.Options:
    """The options of this run for a short measurement on arm64; skips where a tool is missing."""
    need(
        TOOLS.missing()
        + [QEMU] * (not shutil.which(QEMU))
        + [FIRMWARE] * (not Path(FIRMWARE).exists())
    )
    return dataclasses.replace(chosen, arch="arm64", accel="tcg", rebinds=REBINDS)


@pytest.mark.full
@pytest.mark.parametrize("name", ["base", "series"])
def test_boot_and_rebind(few: options.Options, trees: tree.Trees, name: str) -> None:
    kernel = images.build_kernel(few, name, getattr(trees, name), config.ARM64)
    image = initramfs.make_initramfs(few, trees.series)
    guest.need_memory(few.gib)
    log = few.build / f"test-arm64-{name}.log"
    found = measure.measure_boot(few, kernel, image, "tcg", log, f"test boot ({kernel.name})")
    assert {driver: len(times.memmap) for driver, times in found.items()} == {
        "nd_pmem": REBINDS,
        "dax_pmem": REBINDS,
    }
