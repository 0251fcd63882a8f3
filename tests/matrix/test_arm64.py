# SPDX-License-Identifier: GPL-2.0
"""Both kernels are cross-compiled, booted and rebound on arm64. The times do not matter."""

import dataclasses

import pytest
from support import Lab, need_machine


@pytest.mark.full
@pytest.mark.parametrize("name", ["base", "series"])
def test_boot_and_rebind(lab: Lab, name: str) -> None:
    need_machine("arm64")
    lab.rebind(name, dataclasses.replace(lab.options, arch="arm64", accel="tcg"))
