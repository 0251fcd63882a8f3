# SPDX-License-Identifier: GPL-2.0
"""The table of recorded samples, and times that cannot be true."""

import copy
import json
import math
from pathlib import Path

import pytest

from harness.bench import report
from harness.core import errors

SAMPLES = json.loads((Path(__file__).parent / "fixtures/bench.json").read_text())


def test_table() -> None:
    text = report.format_table(SAMPLES)
    assert (
        "100 GiB, x86_64 kernel 7.3.0-rc7, EMULATED: TCG (QEMU 7.2.22) on AMD EPYC, 2026-11-20, "
        "2 boots x 5 rebinds per kernel" in text
    )
    rows = [" ".join(line.split()) for line in text.splitlines()]
    for row in (
        "nd_pmem memmap, rebind base 10 698.0 710.0 727.4 41.4",
        "nd_pmem memmap, rebind series 10 252.0 254.5 261.9 14.2 -64.2 %",
        "dax_pmem memmap, first bind series 2 1450.0 1634.5 1634.5 260.9 -49.4 %",
        "dax_pmem whole bind, rebind base 10 734.6 788.3 773.4 29.4",
    ):
        assert row in rows
    assert "TCG emulates" in text
    native = report.format_table(SAMPLES | {"accelerator": "kvm"})
    assert "NATIVE: KVM (QEMU 7.2.22) on AMD EPYC" in native and "TCG" not in native
    assert math.isnan(report.compute_change(0, 1))


def test_table_of_the_series_alone() -> None:
    """As an emulator has it: no row of the base, and nothing that compares."""
    boots = [boot for boot in SAMPLES["boots"] if boot["kernel"] == "series"][:1]
    text = report.format_table(SAMPLES | {"boots": boots})
    assert "kernel 7.3.0-rc7, EMULATED" in text
    assert "1 boots x 5 rebinds per kernel" in text
    assert " series " in text and "base" not in text and "%" not in text


def test_impossible_times_are_left_out() -> None:
    samples = copy.deepcopy(SAMPLES)
    samples["boots"][0]["devices"]["nd_pmem"]["memmap"][1] = 9999
    times = report.select_values(samples, "base", "nd_pmem", "memmap")
    assert len(times) == 9 and 9999 not in times
    assert len(report.select_values(samples, "base", "nd_pmem", "bind")) == 9
    assert "Left out: 1 rebinds" in report.format_table(samples)
    for boot in samples["boots"]:
        boot["devices"]["nd_pmem"]["memmap"] = [9999] * 5
    with pytest.raises(errors.UserError, match="clock jumped in every rebind of nd_pmem on base"):
        report.format_table(samples)
