# SPDX-License-Identifier: GPL-2.0
"""The KUnit suites on each architecture that has them."""

import pytest
from support import choose, need

from checks import kunit
from checks.compile import MEMMAP_TEST
from harness.core import command, options
from harness.kernel import tree


@pytest.mark.parametrize("name", choose(kunit.KERNELS, ("x86_64",)))
def test_suites(chosen: options.Options, trees: tree.Trees, name: str) -> None:
    machine = kunit.KERNELS[name]
    need(machine.missing())
    assert kunit.run_kunit(chosen, trees.series, machine) > 0


@pytest.mark.full
def test_memmap_of_base(chosen: options.Options, trees: tree.Trees) -> None:
    """The base passes zone_device_memmap too, with only the patch that adds it."""
    [adds] = command.git(
        trees.series, "log", "--format=%H", "--diff-filter=A", "base..series", "--", MEMMAP_TEST
    ).split()
    step = tree.checkout_commit(trees.base.parent, "base")
    command.git(step, "cherry-pick", adds)
    assert not command.git(
        step, "diff", "--name-only", "base", "--", "mm/mm_init.c", "mm/memremap.c", "include"
    )
    assert kunit.run_kunit(chosen, step, kunit.MEMMAP_ONLY) > 0
