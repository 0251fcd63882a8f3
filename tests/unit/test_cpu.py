# SPDX-License-Identifier: GPL-2.0
"""The description of a CPU says more than a model name that many CPUs share."""

import pytest

from harness.core import cpu

INFO = (
    "processor\t: 0\nvendor_id\t: {}\ncpu family\t: {}\nmodel\t\t: {}\n"
    "model name\t: {}\nstepping\t: 8\nflags\t\t: fpu {}\n\nprocessor\t: 1\nmodel name\t: other\n"
)
XEON = "Intel(R) Xeon(R) Processor"


@pytest.mark.parametrize(
    ("info", "told"),
    [
        (
            INFO.format("GenuineIntel", 6, 143, XEON, "amx_tile"),
            f"{XEON}, family 6 model 143 stepping 8 (Sapphire Rapids)",
        ),
        (
            INFO.format("GenuineIntel", 6, 167, XEON, "amx_tile"),
            f"{XEON}, family 6 model 167 stepping 8 (Sapphire Rapids or later, its model masked)",
        ),
        (
            INFO.format("GenuineIntel", 6, 167, XEON, "avx512f"),
            f"{XEON}, family 6 model 167 stepping 8",
        ),
        (
            INFO.format("AuthenticAMD", 25, 17, "AMD EPYC", ""),
            "AMD EPYC, family 25 model 17 stepping 8 (Zen 4)",
        ),
        ("processor\t: 0\nBogoMIPS\t: 50.00\n", "unknown CPU"),
    ],
)
def test_name(info: str, told: str) -> None:
    assert cpu.describe_cpu(info) == told
