# SPDX-License-Identifier: GPL-2.0
"""Both kernels built, booted and rebound in the VM, their consoles clean; no time is judged."""

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from checks.drain import undrained
from harness import accel, guest, initramfs, kernels, options, process, samples, toolchain, tree

REBINDS = 3
Build = Callable[[str], kernels.Kernel]


@pytest.fixture(scope="session")
def build(chosen: options.Options, trees: tree.Tree) -> Build:
    """Build a kernel by name."""
    return lambda name: kernels.kernel(chosen, name, getattr(trees, name))


@pytest.mark.parametrize("name", ["base", "series"])
def test_kernel_builds(build: Build, name: str) -> None:
    kernel = build(name)
    assert kernel.image.stat().st_size > 2**20 and kernel.release.endswith(f"-{name}")


def test_initramfs(image: Path) -> None:
    assert image.read_bytes().startswith(b"070701")
    listed = process.run(["sh", "-c", f"cpio -t --quiet <{image}"], "cpio").split()
    assert {"init", "bin/sh", "bin/ndctl", "bin/zone_device_memmap", "sys"} <= set(listed)


@pytest.mark.parametrize("name", ["base", "series"])
def test_boot_and_rebind(chosen: options.Options, build: Build, image: Path, name: str) -> None:
    few = dataclasses.replace(chosen, rebinds=REBINDS)
    guest.need_memory(few.gib)
    log = chosen.build / f"test-{name}.log"
    found = samples.measure(few, build(name), image, accel.accel(few, build("base"), image), log, f"test boot ({name})")
    assert {driver: len(times.memmap) for driver, times in found.items()} == {"nd_pmem": REBINDS, "dax_pmem": REBINDS}


def test_real_panic_is_seen(build: Build, tmp_path: Path) -> None:
    empty = tmp_path / "empty.cpio"
    empty.write_bytes(initramfs.pack({}, {}))
    with pytest.raises(process.Fault, match="complains: .*Kernel panic - not syncing"):
        guest.boot(guest.Guest(build("base"), empty, "tcg", 1), tmp_path / "log", lambda _: None, 120)


def test_copy_is_inline(build: Build) -> None:
    """A struct page of 64 bytes is copied by eight MOVNTI in one stretch, which neither calls nor jumps."""
    code = process.run(["objdump", "-d", "--no-show-raw-insn", build("series").image.parent / "mm_init.o"], "objdump")
    function = re.search(r"<memmap_init_zone_device>:\n(.*?)\n\n", code + "\n\n", re.S)
    assert function
    stretches = re.split(r"\t(?:call|j\w+|rep|ret)\b", function[1])
    assert max(stretch.count("\tmovnti") for stretch in stretches) == 8
    assert "rep movs" not in function[1]


def test_copies_are_drained(build: Build) -> None:
    """In the kernel that is booted, as in those of the replay."""
    assert undrained(build("series").image.parent / "mm_init.o") == []


def test_kernel_of_which_a_part_is_missing(toy: Path, toy_options: options.Options, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an earlier version of the harness, which kept other files, left it."""
    made = []

    def make(_: toolchain.Toolchain, _options: options.Options, _source: Path, objects: Path, what: str, *_words: str, **_more: object) -> str:
        made.append(what)
        for name in (kernels.MEASURED.image, *kernels.KEPT):
            (objects / name).parent.mkdir(parents=True, exist_ok=True)
            (objects / name).write_text("made")
        return ""

    monkeypatch.setattr(kernels, "configure", lambda *_: None)
    monkeypatch.setattr(toolchain.Toolchain, "make", make)
    for _ in range(2):
        kernel = kernels.kernel(toy_options, "base", toy)
    assert len(made) == 1
    kernel.image.unlink()
    assert kernels.kernel(toy_options, "base", toy).image.read_text() == "made"
    assert len(made) == 2
