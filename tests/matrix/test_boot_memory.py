# SPDX-License-Identifier: GPL-2.0
"""In the VM: memory that boot or hotplug initialised is used, by each command line and checker."""

import dataclasses

import pytest
from support import Lab, choose, fail_if, need, need_machine

from checks import boot_memory, boots, kunit, sanitizers
from harness.core.options import Options

REBOOTS = 20
# The first one is the measured kernel with hotplug.
NAMES = choose(["short", *boot_memory.COMMAND_LINES, *boot_memory.DEBUGGED], ["short"])


def run(lab: Lab, options: Options, name: str) -> None:
    """Do a boot of BOOTS, and fail unless all went as planned."""
    boot = boot_memory.BOOTS[name]
    kernel = lab.kernel("series", boot.config)
    fail_if(boots.check(options, lab.trees.series, kernel, f"boot-memory-{name}", boot))


@pytest.mark.parametrize("name", NAMES)
def test_memory(lab: Lab, name: str) -> None:
    run(lab, lab.options, name)


def count(lab: Lab, name: str, cpus: int = 2, nodes: int = 1) -> str:
    """Return the console of a kernel that tells of its zones."""
    boot = boot_memory.count_boot(cpus, nodes)
    return boots.boot_once(
        lab.options, lab.trees.series, lab.kernel(name), "boot-memory-count", boot
    )[0]


@pytest.mark.parametrize("boots", [2, pytest.param(REBOOTS, marks=pytest.mark.full)])
def test_reboot(lab: Lab, boots: int) -> None:
    first = count(lab, "series")
    for _ in range(boots - 1):
        fail_if(boot_memory.compare_zones(first, count(lab, "series")))


@pytest.mark.full
@pytest.mark.parametrize("cpus, nodes", boot_memory.SHAPES)
def test_same_memory(lab: Lab, cpus: int, nodes: int) -> None:
    base, series = (count(lab, name, cpus, nodes) for name in ("base", "series"))
    fail_if(boot_memory.compare_zones(base, series))


@pytest.mark.full
@pytest.mark.parametrize("name", boot_memory.SANITIZED)
def test_sanitizer(lab: Lab, name: str) -> None:
    boot, checker = boot_memory.SANITIZED[name], sanitizers.CHECKERS[name]
    kernel = lab.kernel("series", checker.config)
    told = sanitizers.boot_checked(lab.options, checker, kernel, lab.trees, "memory", boot)
    fail_if(boots.explain(lab.trees.series, *told, boot.scripts))


@pytest.mark.full
def test_arm64(lab: Lab) -> None:
    need_machine("arm64")
    run(lab, dataclasses.replace(lab.options, arch="arm64", accel="tcg"), "arm64")


@pytest.mark.full
@pytest.mark.parametrize("name", ["base", "series"])
def test_highmem(lab: Lab, name: str) -> None:
    """A kernel with 128 MiB of high memory boots; it has no deferred initialisation."""
    need(kunit.HIGHMEM.missing())
    assert kunit.run_kunit(lab.options, getattr(lab.trees, name), kunit.HIGHMEM)
    [log] = lab.options.build.glob(f"kunit/*-highmem-{name}/test.log")
    assert " HighMem " in log.read_text()
