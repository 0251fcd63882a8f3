# SPDX-License-Identifier: GPL-2.0
"""Both kernels are cross-compiled, booted and rebound on arm64. The times do not matter."""

import dataclasses

import pytest

from support import Builder, need_machine


@pytest.mark.full
@pytest.mark.parametrize("name", ["base", "series"])
def test_boot_and_rebind(builder: Builder, name: str) -> None:
    need_machine("arm64")
    builder.rebind(name, dataclasses.replace(builder.options, arch="arm64", accel="tcg"))
