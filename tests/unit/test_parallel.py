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


def test_small_devices() -> None:
    result = {
        "cpus": 2,
        "devices": 1000,
        "device_mib": 1024,
        "order": 18,
        "deduplicated": True,
        "samples": {
            "base 1": [3.0, 6.0, 3.0],
            "series 1": [2.0, 4.0, 2.4],
            "base 2": [1.5, 3.0, 1.5],
            "series 2": [1.5, 3.0, 1.5],
        },
    }
    assert parallel.format_table({"results": [result]}).splitlines() == [
        "  1024 MiB, order 18d, 1000 devices, us for each: "
        "base 1 3.00, series 1 2.40, base 2 3.00, series 2 3.00",
        "    base / series: one after another 1.50x, two at once 1.00x",
    ]
    # They do not count for the last line.
    samples = {"results": [result, *SAMPLES["results"]]}
    assert parallel.format_verdict(samples) == parallel.format_verdict(SAMPLES)


def test_verdict_is_of_the_largest_device_at_order_0() -> None:
    assert parallel.format_verdict(SAMPLES) == "parallel: 2 threads 2.00x of one, 6.00x of base"
