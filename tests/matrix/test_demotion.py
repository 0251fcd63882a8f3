# SPDX-License-Identifier: GPL-2.0
"""In the VM: memory is demoted in each way that the kernel has, and every byte arrives.

A copy that takes a machine check at a load is given up, and the kernel goes on.
"""

import pytest
from support import Lab, fail_if

from checks import boots, demotion, machine_check
from harness.core import errors

pytestmark = [pytest.mark.full, pytest.mark.parametrize("name", ["base", "series"])]


def test_demotion(lab: Lab, name: str) -> None:
    kernel = lab.kernel(name, demotion.BOOT.config)
    fail_if(boots.check(lab.options, lab.trees.series, kernel, "demotion", demotion.BOOT))


def test_machine_check_with_a_plain_fixup(lab: Lab, name: str) -> None:
    kernel = lab.kernel(name, demotion.BOOT.config)
    with pytest.raises(errors.UserError, match="Kernel panic") as caught:
        machine_check.boot(lab.options, lab.trees.series, kernel, plain=True)
    assert "Data load in unrecoverable area of kernel" in "\n".join(caught.value.shown)


def test_machine_check(lab: Lab, name: str) -> None:
    kernel = lab.kernel(name, demotion.BOOT.config)
    fail_if(machine_check.boot(lab.options, lab.trees.series, kernel))
