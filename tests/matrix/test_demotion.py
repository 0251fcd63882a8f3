# SPDX-License-Identifier: GPL-2.0
"""In the VM: memory is demoted in each way that the kernel has, and every byte arrives."""

from pathlib import Path

import pytest

from checks import demotion
from harness.core import options
from harness.kernel import images, tree
from harness.vm import accel


@pytest.fixture(scope="session")
def image(chosen: options.Options, trees: tree.Trees) -> Path:
    """The initramfs of these boots."""
    return demotion.make_image(chosen, trees.series)


@pytest.mark.full
@pytest.mark.parametrize("name", ["base", "series"])
def test_demotion(chosen: options.Options, trees: tree.Trees, image: Path, name: str) -> None:
    kernel = images.build_kernel(chosen, name, getattr(trees, name), demotion.CONFIG)
    how = accel.choose_accel(chosen, kernel, image)
    if why := demotion.boot_demotion(chosen, trees.series, kernel, image, how):
        pytest.fail(why, pytrace=False)
