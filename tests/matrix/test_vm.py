# SPDX-License-Identifier: GPL-2.0
"""Both kernels build, boot and rebind in the VM with clean consoles. The times do not matter."""

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from checks.drain import find_undrained
from harness.bench import measure
from harness.core import command, errors, options
from harness.kernel import images, tree
from harness.vm import accel, guest, initramfs
from harness.vm.devices import DEVICES

REBINDS = 3
Build = Callable[[str], images.Kernel]


@pytest.fixture(scope="session")
def build(chosen: options.Options, trees: tree.Trees) -> Build:
    """Return a function that builds a kernel by name."""
    return lambda name: images.build_kernel(chosen, name, getattr(trees, name))


@pytest.mark.parametrize("name", ["base", "series"])
def test_kernel_builds(build: Build, name: str) -> None:
    kernel = build(name)
    assert kernel.image.stat().st_size > 2**20 and kernel.release.endswith(f"-{name}")


def test_initramfs(image: Path) -> None:
    assert image.read_bytes().startswith(b"070701")
    listed = command.run(["sh", "-c", f"cpio -t --quiet <{image}"], "cpio").split()
    assert {"init", "bin/sh", "bin/ndctl", "bin/zone_device_memmap", "sys"} <= set(listed)


@pytest.mark.parametrize("name", ["base", "series"])
def test_boot_and_rebind(chosen: options.Options, build: Build, image: Path, name: str) -> None:
    few = dataclasses.replace(chosen, rebinds=REBINDS)
    guest.need_memory(few.gib, DEVICES)
    log = chosen.build / f"test-{name}.log"
    found = measure.measure_boot(
        few,
        build(name),
        image,
        accel.choose_accel(few, build("base"), image),
        log,
        f"test boot ({name})",
    )
    assert {name: len(times.memmap) for name, times in found.items()} == dict.fromkeys(
        (device.name for device in DEVICES), REBINDS
    )


def test_real_panic_is_seen(build: Build, tmp_path: Path) -> None:
    empty = tmp_path / "empty.cpio"
    empty.write_bytes(initramfs.pack_archive({}, {}))
    with pytest.raises(errors.UserError, match="complains: .*Kernel panic - not syncing"):
        guest.boot_guest(
            guest.Guest(build("base"), empty, "tcg"), tmp_path / "log", lambda _: None, 120
        )


def test_copy_is_inline(build: Build) -> None:
    """Eight MOVNTI without a call or a jump between them copy a struct page of 64 bytes."""
    code = command.run(
        ["objdump", "-d", "--no-show-raw-insn", build("series").image.parent / "mm_init.o"],
        "objdump",
    )
    function = re.search(r"<memmap_init_zone_device>:\n(.*?)\n\n", code + "\n\n", re.S)
    assert function
    stretches = re.split(r"\t(?:call|j\w+|rep|ret)\b", function[1])
    assert max(stretch.count("\tmovnti") for stretch in stretches) == 8
    assert "rep movs" not in function[1]


def test_copies_are_drained(build: Build) -> None:
    """The kernel that boots drains its copies; test_replay.py checks those of the replay."""
    assert find_undrained(build("series").image.parent / "mm_init.o") == []
