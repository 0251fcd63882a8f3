# SPDX-License-Identifier: GPL-2.0
"""Both kernels on arm64, where memcpy_nt() is memcpy(): cross-compiled, booted and rebound in the VM; no time is judged."""

import dataclasses
import shutil
from pathlib import Path

import pytest

from conftest import need
from harness import guest, initramfs, kernels, options, process, samples, tree, userland

REBINDS = 3
TOOLS = kernels.ARM64.tools
QEMU, FIRMWARE = guest.MACHINES["arm64"].qemu, str(guest.MACHINES["arm64"].firmware)


@pytest.fixture(scope="module")
def few(chosen: options.Options) -> options.Options:
    """The options of this run for a short measurement on arm64; skips where a tool is missing."""
    need(TOOLS.missing() + [QEMU] * (not shutil.which(QEMU)) + [FIRMWARE] * (not Path(FIRMWARE).exists()))
    return dataclasses.replace(chosen, arch="arm64", accel="tcg", rebinds=REBINDS)


@pytest.mark.full
@pytest.mark.parametrize("name", ["base", "series"])
def test_boot_and_rebind(few: options.Options, trees: tree.Tree, name: str) -> None:
    kernel = kernels.kernel(few, name, getattr(trees, name), kernels.ARM64)
    image = initramfs.initramfs(few, trees.series)
    guest.need_memory(few.gib)
    log = few.build / f"test-arm64-{name}.log"
    found = samples.measure(few, kernel, image, "tcg", log, f"test boot ({kernel.name})")
    assert {driver: len(times.memmap) for driver, times in found.items()} == {"nd_pmem": REBINDS, "dax_pmem": REBINDS}


@pytest.mark.parametrize(("words", "message"), [
    ({"ARCH": "sparc"}, "ARCH=sparc is neither x86_64 nor arm64"),
    ({"ARCH": "arm64", "ACCEL": "kvm"}, "ACCEL=kvm cannot run an arm64 guest"),
])
def test_bad_choice(words: dict[str, str], message: str) -> None:
    with pytest.raises(process.Fault, match=message):
        options.read(words)


def test_measurements_do_not_mix() -> None:
    homes = {options.read({"ARCH": arch, "ACCEL": accel}).bench for arch in options.ARCHES for accel in ("tcg", "icount")}
    assert len(homes) == 4


def test_firmware_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = dataclasses.replace(guest.MACHINES["x86_64"], firmware=process.ROOT / "no-such.fd")
    monkeypatch.setitem(guest.MACHINES, "arm64", machine)
    with pytest.raises(process.Fault, match="no-such.fd is missing: run 'make setup'"):
        guest.qemu_version("arm64")


def test_libraries_of_a_program(tmp_path: Path) -> None:
    program = Path(shutil.copy("/bin/true", tmp_path))
    with pytest.raises(process.Fault, match=r"libc\.so\.6, which true needs, is in none of the packages"):
        userland.needed(tmp_path, program)
    (tmp_path / "usr/lib/triplet").mkdir(parents=True)
    (tmp_path / "usr/lib/triplet/libc.so.6").write_bytes(program.read_bytes())
    (tmp_path / "usr/lib/triplet/ld-linux-x86-64.so.2").write_bytes(program.read_bytes())
    assert userland.needed(tmp_path, program)["lib/libc.so.6"] == program.read_bytes()
