# SPDX-License-Identifier: GPL-2.0
"""The statistics of known values, and the table and the plot of known samples."""

import copy
import math
from pathlib import Path
from typing import Any

import pytest

from harness.bench import plot, report
from harness.core import errors
from harness.vm.devices import DEVICES

SAMPLES: dict[str, Any] = {
    "date": "2026-11-20",
    "accelerator": "tcg",
    "cpu": "Some CPU",
    "qemu": "7.2.22",
    "gib": 100,
    "pages": {device.name: device.count_pages(100) for device in DEVICES},
    "rebinds": 2,
    "boots": [
        {
            "kernel": kernel,
            "release": f"7.3.0-rc7-{kernel}",
            "devices": {
                device: {
                    "first": first,
                    "memmap": [first // 10, first // 10 + 2],
                    "bind": [first / 8, first / 8 + 1],
                }
                for device, first in (
                    ("nd_pmem", 4000 // part),
                    ("dax_pmem", 5000 // part),
                    ("dax_pmem-1G", 6000 // part),
                )
            },
        }
        for kernel, part in (("base", 1), ("series", 2), ("base", 1), ("series", 2))
    ],
}


def test_change() -> None:
    assert report.compute_change(200, 100) == -50
    assert report.compute_change(100, 120) == pytest.approx(20)
    assert math.isnan(report.compute_change(0, 1))


def test_table() -> None:
    text = report.format_table(SAMPLES)
    assert (
        "100 GiB, kernel 7.3.0-rc7, TCG (QEMU 7.2.22) on Some CPU, 2026-11-20, "
        "2 boots x 2 rebinds per kernel" in text
    )
    rows = [" ".join(line.split()) for line in text.splitlines()]
    for row in (
        "nd_pmem memmap, rebind base 4 400.0 401.0 401.0 1.2",
        "nd_pmem memmap, rebind series 4 200.0 201.0 201.0 1.2 -49.9 %",
        "dax_pmem memmap, first bind series 2 2500.0 2500.0 2500.0 0.0 -50.0 %",
        "dax_pmem whole bind, rebind base 4 625.0 625.5 625.5 0.6",
    ):
        assert row in rows
    assert "TCG emulates" in text
    assert "TCG" not in report.format_table(SAMPLES | {"accelerator": "kvm"})


def test_other_tables() -> None:
    text = report.format_table(SAMPLES | {"accelerator": "icount"})
    assert text.startswith("ZONE_DEVICE memmap initialisation, million instructions\n")
    assert ", ICOUNT (QEMU 7.2.22)" in text and "count the instructions" in text
    boots = [boot | {"release": f"{boot['release']}+arm64"} for boot in SAMPLES["boots"]]
    text = report.format_table(SAMPLES | {"arch": "arm64", "boots": boots[:2]})
    assert "100 GiB, arm64 kernel 7.3.0-rc7, TCG" in text
    # One boot has no deviation.
    [row] = [line for line in text.splitlines() if "nd_pmem     memmap, first bind  base" in line]
    assert row.split()[-2:] == ["4000.0", "-"]


def test_impossible_times_are_left_out() -> None:
    samples = copy.deepcopy(SAMPLES)
    samples["boots"][0]["devices"]["nd_pmem"]["memmap"][1] = 9999
    assert report.select_values(samples, "base", "nd_pmem", "memmap") == [400, 400, 402]
    assert report.select_values(samples, "base", "nd_pmem", "bind") == [500, 500, 501]
    assert "Left out: 1 rebinds" in report.format_table(samples)
    for boot in samples["boots"]:
        boot["devices"]["nd_pmem"]["memmap"] = [9999, 9999]
    with pytest.raises(errors.UserError, match="clock jumped in every rebind of nd_pmem on base"):
        report.format_table(samples)


def test_plot(tmp_path: Path) -> None:
    plot.draw_bench(SAMPLES, tmp_path / "bench.png")
    image = (tmp_path / "bench.png").read_bytes()
    assert image.startswith(b"\x89PNG") and len(image) > 20000
