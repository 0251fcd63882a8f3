# SPDX-License-Identifier: GPL-2.0
"""The description of a CPU says more than a model name that many CPUs share."""

import pytest

from harness.core import cpu

INFO = (
    "processor\t: 0\nvendor_id\t: {}\ncpu family\t: {}\nmodel\t\t: {}\n"
    "model name\t: A CPU\nstepping\t: 8\nflags\t\t: fpu {}\n\nprocessor\t: 1\nmodel name\t: other\n"
)


@pytest.mark.parametrize(
    ("vendor", "family", "model", "flag", "known"),
    [
        ("GenuineIntel", 6, 143, "amx_tile", " (Sapphire Rapids)"),
        ("GenuineIntel", 6, 167, "amx_tile", " (Sapphire Rapids or later, its model masked)"),
        ("GenuineIntel", 6, 167, "avx512f", ""),
        ("AuthenticAMD", 25, 17, "", " (Zen 4)"),
    ],
)
def test_name(vendor: str, family: int, model: int, flag: str, known: str) -> None:
    told = cpu.describe_cpu(INFO.format(vendor, family, model, flag))
    assert told == f"A CPU, family {family} model {model} stepping 8{known}"
