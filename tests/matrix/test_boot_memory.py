# SPDX-License-Identifier: GPL-2.0
"""In the VM: memory that boot or hotplug initialised is used, by each command line and checker."""

import dataclasses
from pathlib import Path

import pytest
from support import Lab, choose, need, need_machine

from checks import boot_memory, kunit, robustness, sanitizers
from harness.core.options import Options
from harness.kernel import config, images

REBOOTS = 20


@pytest.fixture(scope="session")
def image(lab: Lab) -> Path:
    """The initramfs of these boots."""
    return boot_memory.make_image(lab.options, lab.trees.series)


def run(lab: Lab, options: Options, kernel: images.Kernel, image: Path, name: str) -> None:
    """Do a boot of BOOTS, and fail unless all went as planned."""
    boot = boot_memory.BOOTS[name]
    console, log = boot_memory.boot_memory(options, kernel, image, name, boot)
    judge(lab, console, log, boot)


def judge(lab: Lab, console: str, log: Path, boot: boot_memory.Boot) -> None:
    """Fail, with what the guest told, unless all went as planned."""
    if why := robustness.judge(lab.trees.series, console, log, boot.scripts):
        pytest.fail(why, pytrace=False)


# The first one is the measured kernel with hotplug.
NAMES = choose(["short", *boot_memory.LINES, *boot_memory.DEBUGGED], ["short"])


@pytest.mark.parametrize("name", NAMES)
def test_memory(lab: Lab, image: Path, name: str) -> None:
    kernel = lab.kernel("series", boot_memory.BOOTS[name].config)
    run(lab, lab.options, kernel, image, name)


def count(lab: Lab, kernel: images.Kernel, image: Path) -> int:
    """Return how many pages a kernel manages after boot."""
    console, _ = boot_memory.boot_memory(lab.options, kernel, image, "count", boot_memory.COUNT)
    return boot_memory.read_managed(console)


@pytest.mark.parametrize("boots", [2, pytest.param(REBOOTS, marks=pytest.mark.full)])
def test_reboot(lab: Lab, image: Path, boots: int) -> None:
    kernel = lab.kernel("series")
    assert len({count(lab, kernel, image) for _ in range(boots)}) == 1


@pytest.mark.full
@pytest.mark.parametrize("name", boot_memory.SANITIZED)
def test_sanitizer(lab: Lab, image: Path, name: str) -> None:
    boot = boot_memory.SANITIZED[name]
    kernel = lab.kernel("series", sanitizers.CHECKERS[name].config)
    told = boot_memory.boot_sanitized(lab.options, kernel, lab.trees, image, boot)
    judge(lab, *told, boot)


@pytest.mark.full
def test_arm64(lab: Lab) -> None:
    need_machine("arm64")
    there = dataclasses.replace(lab.options, arch="arm64", accel="tcg")
    kernel = lab.kernel("series", config.BOOTED["arm64"])
    run(lab, there, kernel, boot_memory.make_image(there, lab.trees.series), "arm64")


@pytest.mark.full
@pytest.mark.parametrize("name", ["base", "series"])
def test_highmem(lab: Lab, name: str) -> None:
    """A kernel with 128 MiB of high memory boots; it has no deferred initialisation."""
    need(kunit.HIGHMEM.missing())
    assert kunit.run_kunit(lab.options, getattr(lab.trees, name), kunit.HIGHMEM)
    [log] = lab.options.build.glob(f"kunit/*-highmem-{name}/test.log")
    assert " HighMem " in log.read_text()
