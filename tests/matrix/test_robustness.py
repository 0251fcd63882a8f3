# SPDX-License-Identifier: GPL-2.0
"""In the VM: what the selftest must withstand, and what devices hold afterwards."""

from cells import boots
from support import Builder


def test_robustness(builder: Builder) -> None:
    builder.check("series", "robustness", boots.ROBUSTNESS)
