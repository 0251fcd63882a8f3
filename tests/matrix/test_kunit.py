# SPDX-License-Identifier: GPL-2.0
"""The KUnit suites on each architecture that has them."""

import pytest

from harness.cells import boots, kunit
from harness.cells.compile import MEMMAP_TEST
from harness.core import command
from harness.kernel import configs, tree
from harness.kernel.images import build_kernel
from support import Builder, need

BOOT = boots.Boot(words=f"{kunit.RUN} {configs.NODES}")


def test_suites_in_the_vm(builder: Builder) -> None:
    """With KALLSYMS, memcpy_nt looks at fixups, too."""
    _, log = builder.boot("series", "kunit", BOOT)
    suites = [suite.name for suite in configs.SUITES]
    assert kunit.parse_log(builder.trees.series, log, suites, "KUnit in the VM") > 0


@pytest.mark.full
@pytest.mark.parametrize("name", configs.KUNIT_KERNELS)
def test_suites(builder: Builder, name: str) -> None:
    machine = configs.KUNIT_KERNELS[name]
    need(machine.missing())
    passed, log = kunit.run_kunit(builder.options, builder.trees.series, machine)
    assert passed > 0
    # Boot gives i386 its high memory, too.
    assert (" HighMem " in log.read_text()) == (name == "i386")


@pytest.mark.full
def test_memmap_of_base(builder: Builder) -> None:
    """The base passes zone_device_memmap too, with only the patch that adds it."""
    [adds] = command.git(
        builder.trees.series,
        "log",
        "--format=%H",
        "--diff-filter=A",
        "base..series",
        "--",
        MEMMAP_TEST,
    ).split()
    step = tree.checkout_commit(builder.trees.base.parent, "base")
    command.git(step, "cherry-pick", adds)
    assert not command.git(
        step, "diff", "--name-only", "base", "--", "mm/mm_init.c", "mm/memremap.c", "include"
    )
    kernel = build_kernel(
        builder.options, "base", step, configs.add_suites("memmap", [configs.MEMMAP])
    )
    _, log = boots.boot_once(builder.options, builder.trees.series, kernel, "kunit", BOOT)
    assert kunit.parse_log(step, log, [configs.MEMMAP.name], "KUnit of the base's memmap") > 0
