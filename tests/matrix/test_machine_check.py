# SPDX-License-Identifier: GPL-2.0
"""A copy that takes a machine check at a load is given up, and the kernel goes on."""

import pytest

from harness.cells import machine_check
from harness.core import errors
from support import Builder, fail_if

pytestmark = [pytest.mark.full, pytest.mark.parametrize("name", ["base", "series"])]


def test_machine_check_with_a_plain_fixup(builder: Builder, name: str) -> None:
    kernel = builder.kernel(name, machine_check.BOOT.config)
    with pytest.raises(errors.UserError, match="Kernel panic") as caught:
        machine_check.boot(builder.options, builder.trees.series, kernel, plain=True)
    assert "Data load in unrecoverable area of kernel" in "\n".join(caught.value.shown)


def test_machine_check(builder: Builder, name: str) -> None:
    kernel = builder.kernel(name, machine_check.BOOT.config)
    fail_if(machine_check.boot(builder.options, builder.trees.series, kernel))
