# SPDX-License-Identifier: GPL-2.0
"""What `make replay-parallel` tells of its samples."""

from harness.replay import parallel

SAMPLES = {
    "results": [
        {
            "cpus": 2,
            "device_mib": mib,
            "order": order,
            "deduplicated": dedup,
            "samples": {
                "base 1": [30.0, 60.0, 30.0],
                "series 1": [10.0, 20.0, 12.0],
                "series 2": [5.0 * slower, 10.0 * slower, 6.0 * slower],
                "split 2": [8.0, 16.0, 9.6],
                "fill 1": [9.0, 18.0, 9.0],
                "fill 2": [5.0, 10.0, 5.0],
            },
        }
        for mib, order, dedup, slower in (
            (256, 0, False, 4),
            (102400, 0, False, 1),
            (102400, 9, True, 2),
        )
    ],
}


def test_speedups() -> None:
    told = parallel.format_table(SAMPLES).splitlines()
    assert told[::2] == [
        f"{name}: base 1 30.00, series 1 12.00, series 2 {two}, split 2 9.60, "
        "fill 1 9.00, fill 2 5.00"
        for name, two in (
            ("   256 MiB, order 0", "24.00"),
            ("102400 MiB, order 0", "6.00"),
            ("102400 MiB, order 9d", "12.00"),
        )
    ]
    assert told[1::2] == [
        f"    2 threads, of 1: series {series}, split 1.25x, fill 1.80x, of base {base}"
        for series, base in (("0.50x", "1.50x"), ("2.00x", "6.00x"), ("1.00x", "3.00x"))
    ]


def test_verdict_is_of_the_largest_device_at_order_0() -> None:
    assert parallel.format_verdict(SAMPLES) == "parallel: 2 threads 2.00x of one, 6.00x of base"
