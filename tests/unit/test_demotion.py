# SPDX-License-Identifier: GPL-2.0
"""What `make replay-demotion` tells of its samples, and its picture."""

from pathlib import Path
from typing import Any

from harness.replay import demotion

# Sizes in KiB with what series takes, if base takes 12: of a copy, and of what is read again.
RACED = ((32, 10.0, 3.0), (2048, 10.0, 12.0), (65536, 10.0, 6.0), (0, 1.0, 24.0))


def make_result(order: int, kib: int, copy: float, read: float) -> dict[str, Any]:
    """Return a race of three rounds, in which only the median of the ratios is as told."""
    return {
        "order": order,
        "other_kib": kib,
        "copy": {"base": [12.0, 24.0, 12.0], "series": [copy, 2 * copy, 1.0]},
        "read": {"base": [12.0, 24.0, 99.0], "series": [read, 2 * read, 1.0]},
    }


SAMPLES = {
    "cpu": "a CPU",
    "date": "2026-11-22",
    "second_level_kib": 2048,
    "results": [
        *(make_result(0, kib, copy, read) for kib, copy, read in RACED),
        make_result(9, 32, 6.0, 12.0),
        make_result(9, 65536, 6.0, 12.0),
        make_result(9, 0, 6.0, 48.0),
    ],
}


def test_groups() -> None:
    told = demotion.format_table(SAMPLES).splitlines()
    assert told[1].split() == [
        *("order", "0,", "32", "KiB:"),
        *("12.00", "10.00", "1.20x", "24.00", "3.00", "4.00x"),
    ]
    assert told[4].startswith("order 0, the copies: ")
    assert told[-2:] == [
        "order 0, series: copy 1.20x, neighbour that fits 4.00x, larger 1.41x, copies read 0.50x",
        "order 9, series: copy 2.00x, neighbour that fits 1.00x, larger 1.00x, copies read 0.25x",
    ]


def test_verdict_leaves_out_the_copies_that_are_read() -> None:
    # (1.2^3 * 2^2)^(1/5) and (4 * 1 * 2 * 1 * 1)^(1/5)
    assert demotion.format_verdict(SAMPLES) == "demotion: copy 1.47x, neighbour 1.52x"


def test_cache_that_the_system_does_not_tell(tmp_path: Path) -> None:
    (tmp_path / "size").write_text("1024K\n")
    assert demotion.read_cache(tmp_path / "size") == {"second_level_kib": 1024}
    unknown = demotion.read_cache(tmp_path / "none")
    told = demotion.format_table(SAMPLES | unknown)
    assert "unknown KiB" in told
    assert "larger" in told
    assert "fits" not in told


def test_picture(tmp_path: Path) -> None:
    demotion.draw_copies(SAMPLES, tmp_path / "demotion.png")
    assert (tmp_path / "demotion.png").read_bytes().startswith(b"\x89PNG")
