# SPDX-License-Identifier: GPL-2.0
"""In the VM: memory that boot or hotplug initialised is used, by each command line and checker."""

import dataclasses
from pathlib import Path

import pytest
from support import Build, choose, need, need_machine

from checks import boot_memory, kunit, robustness, sanitizers
from harness.core import options
from harness.kernel import config, images, tree

REBOOTS = 20


@pytest.fixture(scope="session")
def image(chosen: options.Options, trees: tree.Trees) -> Path:
    """The initramfs of these boots."""
    return boot_memory.make_image(chosen, trees.series)


def run(
    chosen: options.Options, trees: tree.Trees, kernel: images.Kernel, image: Path, name: str
) -> None:
    """Do a boot of BOOTS, and fail unless all went as planned."""
    boot = boot_memory.BOOTS[name]
    console, log = boot_memory.boot_memory(chosen, kernel, image, name, boot)
    judge(trees, console, log, boot)


def judge(trees: tree.Trees, console: str, log: Path, boot: boot_memory.Boot) -> None:
    """Fail, with what the guest told, unless all went as planned."""
    if why := robustness.judge(trees.series, console, log, boot.scripts):
        pytest.fail(why, pytrace=False)


# The first one is the measured kernel with hotplug.
NAMES = choose(["short", *boot_memory.LINES, *boot_memory.DEBUGGED], ["short"])


@pytest.mark.parametrize("name", NAMES)
def test_memory(
    chosen: options.Options, trees: tree.Trees, build: Build, image: Path, name: str
) -> None:
    run(chosen, trees, build("series", boot_memory.BOOTS[name].config), image, name)


def count(chosen: options.Options, kernel: images.Kernel, image: Path) -> int:
    """Return how many pages a kernel manages after boot."""
    console, _ = boot_memory.boot_memory(chosen, kernel, image, "count", boot_memory.COUNT)
    return boot_memory.read_managed(console)


@pytest.mark.parametrize("boots", [2, pytest.param(REBOOTS, marks=pytest.mark.full)])
def test_reboot(chosen: options.Options, build: Build, image: Path, boots: int) -> None:
    kernel = build("series")
    assert len({count(chosen, kernel, image) for _ in range(boots)}) == 1


@pytest.mark.full
@pytest.mark.parametrize("name", boot_memory.SANITIZED)
def test_sanitizer(
    chosen: options.Options, trees: tree.Trees, build: Build, image: Path, name: str
) -> None:
    boot = boot_memory.SANITIZED[name]
    kernel = build("series", sanitizers.CHECKERS[name].config)
    judge(trees, *boot_memory.boot_sanitized(chosen, kernel, trees, image, boot), boot)


@pytest.mark.full
def test_arm64(chosen: options.Options, trees: tree.Trees, build: Build) -> None:
    need_machine("arm64")
    there = dataclasses.replace(chosen, arch="arm64", accel="tcg")
    kernel = build("series", config.BOOTED["arm64"])
    run(there, trees, kernel, boot_memory.make_image(there, trees.series), "arm64")


@pytest.mark.full
@pytest.mark.parametrize("name", ["base", "series"])
def test_highmem(chosen: options.Options, trees: tree.Trees, name: str) -> None:
    """A kernel with 128 MiB of high memory boots; it has no deferred initialisation."""
    need(kunit.HIGHMEM.missing())
    assert kunit.run_kunit(chosen, getattr(trees, name), kunit.HIGHMEM)
    [log] = chosen.build.glob(f"kunit/*-highmem-{name}/test.log")
    assert " HighMem " in log.read_text()
