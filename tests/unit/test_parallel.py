# SPDX-License-Identifier: GPL-2.0
"""What `make replay-parallel` tells of its samples, and the model."""

import pytest

from harness.replay import model, parallel

SAMPLES = {
    "cpus": 2,
    "results": [
        {
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
    told = parallel.format_speedups(SAMPLES).splitlines()
    assert [line.split() for line in told[1:]] == [
        ["256", "0", "0.50x", "1.25x", "1.80x", "1.50x"],
        ["102400", "0", "2.00x", "1.25x", "1.80x", "6.00x"],
        ["102400", "9d", "1.00x", "1.25x", "1.80x", "3.00x"],
    ]


def test_verdict_is_of_the_largest_device_at_order_0() -> None:
    assert parallel.format_verdict(SAMPLES) == "parallel: 2 threads 2.00x of one, 6.00x of base"


def test_model() -> None:
    """One thread takes what README.md says; many take what the bandwidth allows."""
    [socket] = [socket for socket in model.SOCKETS if socket.name.startswith("Sapphire")]
    pages = 100 * 2**30 / model.PAGE
    blocks = pages / model.PAGEBLOCK * model.PER_PAGEBLOCK
    one, many = (model.find_time(socket, 100 * 2**30, threads, 0.5) for threads in (1, 64))
    assert one == pytest.approx(pages * 3.65e-9 + blocks)
    assert many == pytest.approx(pages * 64 / (0.5 * 307.2e9) + blocks)
    told = model.format_model()
    assert told.startswith("MODEL, not measured")
    assert told.count("\n") == 1 + len(model.SOCKETS) * len(model.SIZES)
