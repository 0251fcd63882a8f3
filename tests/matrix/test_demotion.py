# SPDX-License-Identifier: GPL-2.0
"""In the VM: memory is demoted in each way that the kernel has, and every byte arrives.

A copy that takes a machine check at a load is given up, and the kernel goes on.
"""

from pathlib import Path

import pytest
from support import Build

from checks import demotion, machine_check
from harness.core import errors, options
from harness.kernel import tree

pytestmark = [pytest.mark.full, pytest.mark.parametrize("name", ["base", "series"])]


@pytest.fixture(scope="session")
def image(chosen: options.Options, trees: tree.Trees) -> Path:
    """The initramfs of these boots."""
    return demotion.make_image(chosen, trees.series)


def test_demotion(
    chosen: options.Options, trees: tree.Trees, build: Build, image: Path, name: str
) -> None:
    kernel = build(name, demotion.CONFIG)
    if why := demotion.boot_demotion(chosen, trees.series, kernel, image):
        pytest.fail(why, pytrace=False)


def test_machine_check_with_a_plain_fixup(
    chosen: options.Options, trees: tree.Trees, build: Build, image: Path, name: str
) -> None:
    with pytest.raises(errors.UserError, match="Kernel panic") as caught:
        machine_check.boot(chosen, trees.series, build(name, demotion.CONFIG), image, plain=True)
    assert "Data load in unrecoverable area of kernel" in "\n".join(caught.value.shown)


def test_machine_check(
    chosen: options.Options, trees: tree.Trees, build: Build, image: Path, name: str
) -> None:
    if why := machine_check.boot(chosen, trees.series, build(name, demotion.CONFIG), image):
        pytest.fail(why, pytrace=False)
