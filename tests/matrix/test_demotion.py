# SPDX-License-Identifier: GPL-2.0
"""In the VM: memory is demoted in each way that the kernel has, and every byte arrives.

A copy that takes a machine check at a load is given up, and the kernel goes on.
"""

from pathlib import Path

import pytest
from support import Lab

from checks import demotion, machine_check
from harness.core import errors

pytestmark = [pytest.mark.full, pytest.mark.parametrize("name", ["base", "series"])]


@pytest.fixture(scope="session")
def image(lab: Lab) -> Path:
    """The initramfs of these boots."""
    return demotion.make_image(lab.options, lab.trees.series)


def test_demotion(lab: Lab, image: Path, name: str) -> None:
    kernel = lab.kernel(name, demotion.CONFIG)
    if why := demotion.boot_demotion(lab.options, lab.trees.series, kernel, image):
        pytest.fail(why, pytrace=False)


def test_machine_check_with_a_plain_fixup(lab: Lab, image: Path, name: str) -> None:
    with pytest.raises(errors.UserError, match="Kernel panic") as caught:
        machine_check.boot(
            lab.options, lab.trees.series, lab.kernel(name, demotion.CONFIG), image, plain=True
        )
    assert "Data load in unrecoverable area of kernel" in "\n".join(caught.value.shown)


def test_machine_check(lab: Lab, image: Path, name: str) -> None:
    if why := machine_check.boot(
        lab.options, lab.trees.series, lab.kernel(name, demotion.CONFIG), image
    ):
        pytest.fail(why, pytrace=False)
