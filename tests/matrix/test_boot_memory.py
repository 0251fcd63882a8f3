# SPDX-License-Identifier: GPL-2.0
"""In the VM: memory that boot or hotplug initialised is used, by each command line and checker."""

import dataclasses

import pytest

from cells import boot_memory, boots, kunit
from harness.kernel.config import MEASURED, KernelConfig
from support import Builder, choose, fail_if, need, need_machine

REBOOTS = 20
# The first one is with hotplug.
NAMES = choose(["short", *boot_memory.COMMAND_LINES, *boot_memory.DEBUGGED], ["short"])


@pytest.mark.parametrize("name", NAMES)
def test_memory(builder: Builder, name: str) -> None:
    builder.check("series", f"boot-memory-{name}", boot_memory.BOOTS[name])


def count(
    builder: Builder, name: str, cpus: int = 2, nodes: int = 1, config: KernelConfig = kunit.TESTED
) -> str:
    """Return the console of a kernel that only tells of its zones.

    Where KASLR puts the kernel decides whether one or two pages more are managed.
    """
    boot = boot_memory.use_memory("nokaslr", "boot-memory", config, nodes=nodes)
    return builder.boot(name, "boot-memory-count", dataclasses.replace(boot, cpus=cpus))[0]


@pytest.mark.parametrize("boots", [2, pytest.param(REBOOTS, marks=pytest.mark.full)])
def test_reboot(builder: Builder, boots: int) -> None:
    first = count(builder, "series")
    for _ in range(boots - 1):
        fail_if(boot_memory.compare_zones(first, count(builder, "series")))


@pytest.mark.full
@pytest.mark.parametrize("cpus, nodes", boot_memory.SHAPES)
def test_same_memory(builder: Builder, cpus: int, nodes: int) -> None:
    """Both without the suites, which take memory."""
    base, series = (count(builder, name, cpus, nodes, MEASURED) for name in ("base", "series"))
    fail_if(boot_memory.compare_zones(base, series))


@pytest.mark.full
@pytest.mark.parametrize("name, walks", {"base": 1, "series": 0}.items())
def test_large(builder: Builder, name: str, walks: int) -> None:
    boot = boot_memory.LARGE
    words = f"{boot.words} zdm.walks={walks}"
    builder.check(name, "boot-memory-large", dataclasses.replace(boot, words=words))


@pytest.mark.full
@pytest.mark.parametrize("block", boot_memory.BLOCKS)
def test_block_costs(builder: Builder, block: int) -> None:
    """What a block costs beside its pages: the console has the counts."""
    told = builder.check("series", f"boot-memory-blocks-{block}", boot_memory.BLOCKS[block])
    assert f"blocks of {block} MiB" in told


@pytest.mark.full
@pytest.mark.parametrize("name", boot_memory.SANITIZED)
def test_sanitizer(builder: Builder, name: str) -> None:
    boot = boot_memory.SANITIZED[name]
    told = builder.boot_checked(name, "memory", boot)
    fail_if(boots.judge(*told))


@pytest.mark.full
def test_arm64(builder: Builder) -> None:
    need_machine("arm64")
    options = dataclasses.replace(builder.options, arch="arm64", accel="tcg")
    builder.check("series", "boot-memory-arm64", boot_memory.BOOTS["arm64"], options)


@pytest.mark.full
@pytest.mark.parametrize("name", ["base", "series"])
def test_highmem(builder: Builder, name: str) -> None:
    """A kernel with 128 MiB of high memory boots; it has no deferred initialisation."""
    need(kunit.HIGHMEM.missing())
    assert kunit.run_kunit(builder.options, getattr(builder.trees, name), kunit.HIGHMEM)
    [log] = builder.options.build.glob(f"kunit/*-highmem-{name}/test.log")
    assert " HighMem " in log.read_text()
