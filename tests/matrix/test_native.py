# SPDX-License-Identifier: GPL-2.0
"""A kernel boots natively under native/monitor.c, rebinds all devices, and leaves nothing."""

import dataclasses
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.bench.measure import measure_boot
from harness.bench.whole import read_values
from harness.core import ROOT, UserError, run, spawn
from harness.kernel.config import NATIVE
from harness.kernel.images import Kernel, build_kernel, patch_trees
from harness.vm.accel import find_kvm
from harness.vm.devices import DEVICES, PAGE, Device
from harness.vm.guest import Guest, boot_guest, compile_monitor
from harness.vm.initramfs import make_initramfs
from support import Builder

Build = Callable[[str], Kernel]


@pytest.fixture(scope="module")
def native(builder: Builder) -> Build:
    """Builds base or series with native/kernel.patch; skipped where no native guest is chosen."""
    best, why = find_kvm(builder.options.build)
    if best != "native":
        pytest.skip(why or "KVM runs the unchanged kernel")
    compile_monitor(builder.options.build)
    trees = patch_trees(builder.trees)
    return lambda name: build_kernel(builder.options, name, getattr(trees, name), NATIVE)


@pytest.mark.parametrize("boots", [1, pytest.param(20, marks=pytest.mark.full)])
def test_native_rebind(builder: Builder, native: Build, tmp_path: Path, boots: int) -> None:
    """Kernel and selftest tell of each rebind, and of as many pages as in QEMU."""
    options = dataclasses.replace(builder.options, gib=2, rebinds=2)
    kernel, image = native("series"), make_initramfs(options, builder.trees.series)
    for _ in range(boots):
        times = measure_boot(options, kernel, image, "native", tmp_path / "log", "native")
        assert [len(one.bind) for one in times.values()] == [2] * len(DEVICES)


@pytest.mark.full
def test_registers_survive(builder: Builder, native: Build, tmp_path: Path) -> None:
    """What programs find by CPUID without a trap, the kernel saves."""
    program = tmp_path / "registers"
    run(["gcc", "-O1", "-mavx", "-static", "-o", program, ROOT / "native/registers.c"], "registers")
    more = {"bin/registers": program.read_bytes(), "guest/registers": b"must registers\n"}
    image = make_initramfs(builder.options, builder.trees.series, "registers", more)
    guest = Guest(native("series"), image, "native", words="zdm.do=registers")
    assert "zdm: registers: 0 lost" in boot_guest(guest, tmp_path / "log", lambda _: None, 60)


@pytest.mark.full
def test_parts(builder: Builder, native: Build, tmp_path: Path) -> None:
    """The kernel's tracer counts what a bind and an unbind call, and times the fill."""
    kernel, image = native("series"), make_initramfs(builder.options, builder.trees.series)
    words = "zdm.do=rebind,parts zdm.rebinds=1"
    guest = Guest(kernel, image, "native", 2, words, devices=DEVICES[:1])
    found = read_values(boot_guest(guest, tmp_path / "log", lambda _: None, 120), kernel.release)
    assert found["bind memmap_init_zone_device()"] == [1]
    # Alone, and traced: the clock of the first counts jiffies.
    assert found["bind memmap_init_zone_device"][0] < found["memmap"][0] + 3
    assert found["unbind flush_tlb_all()"][0] > found["bind flush_tlb_all()"][0]


@pytest.mark.full
@pytest.mark.parametrize("device", DEVICES[:2], ids=lambda device: device.name)
def test_memmap_is_the_same(
    builder: Builder, native: Build, tmp_path: Path, device: Device
) -> None:
    """All of it, behind the superblock, but for one pointer: to the pagemap that both have."""
    image, memmaps, gib = make_initramfs(builder.options, builder.trees.series), [], 2
    for name in ("base", "series"):
        file, words = tmp_path / name, "zdm.do=rebind zdm.rebinds=1"
        head = native(name), image, "native", gib, words
        guest = Guest(*head, devices=(device,), files=(file,))
        boot_guest(guest, tmp_path / "log", lambda _: None, 120)
        with file.open("rb") as stream:
            data = gib * 2**30 - device.count_pages(gib) * PAGE
            memmaps.append(stream.read(data)[2 * PAGE :])
        assert len(memmaps[-1]) - memmaps[-1].count(0) > device.count_pages(gib)
    pairs = zip(*(memoryview(memmap).cast("Q") for memmap in memmaps), strict=True)
    # Where in a struct page words differ, and what they are in each kernel.
    found = {(number % 8, *pair) for number, pair in enumerate(pairs) if pair[0] != pair[1]}
    assert {place for place, *_ in found} <= {1} and len(found) <= 1


def list_children() -> str:
    """Return the processes that this thread has started and that are still there."""
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text()


@pytest.mark.full
def test_nothing_stays_behind(builder: Builder, native: Build, tmp_path: Path) -> None:
    """A guest that panics or hangs, a full disk and a signal end it, with its console kept."""
    image, log = make_initramfs(builder.options, builder.trees.series), tmp_path / "log"
    guest = Guest(native("series"), image, "native", words="zdm.do=nothing")
    before = list_children()
    with pytest.raises(UserError, match="complains: .*Kernel panic - not syncing: Attempted"):
        boot_guest(guest, log, lambda _: None, 60)
    assert "Run /init as init process" in log.read_text() and list_children() == before
    with pytest.raises(UserError, match="is not done after 2 seconds"):
        boot_guest(guest, log, lambda _: None, 2)
    assert "Linux version" in log.read_text() and list_children() == before
    with pytest.raises(OSError, match="No space left"):
        boot_guest(guest, Path("/dev/full"), lambda _: None, 60)
    assert list_children() == before
    for number in (signal.SIGINT, signal.SIGTERM):
        with spawn(guest.command()) as child:
            assert child.stdout and "Linux version" in child.stdout.readline()
            child.send_signal(number)
            assert child.wait(10) == -number
