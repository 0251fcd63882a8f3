# SPDX-License-Identifier: GPL-2.0
"""A kernel boots natively under native/monitor.c and rebinds all devices."""

import dataclasses
import os
from pathlib import Path

import pytest
from support import Lab

from harness.bench.measure import measure_boot
from harness.core.command import run
from harness.core.folders import ROOT
from harness.kernel.config import NATIVE
from harness.kernel.images import Kernel, build_kernel, patch_trees
from harness.vm.guest import Guest, boot_guest, compile_monitor
from harness.vm.initramfs import make_initramfs

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def native(lab: Lab) -> Kernel:
    """The series with native/kernel.patch; skipped where no native guest can run."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        pytest.skip("/dev/kvm cannot be opened")
    compile_monitor(lab.options.build)
    return build_kernel(lab.options, "series", patch_trees(lab.trees).series, NATIVE)


def test_native_rebind(lab: Lab, native: Kernel, tmp_path: Path) -> None:
    """Kernel and selftest tell of each rebind, and of as many pages as in QEMU."""
    options = dataclasses.replace(lab.options, gib=2, rebinds=2)
    image = make_initramfs(options, lab.trees.series)
    times = measure_boot(options, native, image, "native", tmp_path / "log", "native")
    assert [len(one.bind) for one in times.values()] == [2, 2, 2]


def test_registers_survive(lab: Lab, native: Kernel, tmp_path: Path) -> None:
    """What programs find by CPUID without a trap, the kernel saves."""
    program = tmp_path / "registers"
    run(["gcc", "-O1", "-mavx", "-static", "-o", program, ROOT / "native/registers.c"], "registers")
    more = {"bin/registers": program.read_bytes()}
    image = make_initramfs(lab.options, lab.trees.series, "registers", more)
    guest = Guest(native, image, "native", words="zdm.do=registers")
    assert "zdm: registers: 0 lost" in boot_guest(guest, tmp_path / "log", lambda _: None, 60)
