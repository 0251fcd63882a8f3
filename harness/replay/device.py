# SPDX-License-Identifier: GPL-2.0
"""`make replay`: prove that both kernels build the same memmap, and race them at native speed."""

from functools import partial

from harness.replay.build import CONFIGS, REPLAY, Program
from harness.replay.plot import draw_race
from harness.replay.run import Replay
from harness.replay.samples import Result, Samples, format_gain, format_races

PROGRAM = Program(
    "replay",
    REPLAY / "device",
    CONFIGS,
    ("mm/mm_init",),
    ("replay_event", "replay_pgmap", "replay_queue", "replay_cancel"),
    # What the kernel calls to split a range among threads, and what it calls instead.
    optional={"padata_do_multithreaded": "kernel/padata"},
    redefined=("padata_do_multithreaded", "replay_do_multithreaded"),
    fallback=("mm/mm_init",),
)
RANDOM_CASES = "20000"


def name_race(result: Result) -> str:
    """Return the size of the device and the order; d is for a deduplicated memmap."""
    return f"{result['device_gib']:>4} GiB, order {result['order']}{'d' * result['deduplicated']}"


def format_verdict(samples: Samples) -> str:
    """Return the last line: the largest device, all its orders that are not deduplicated."""
    largest = max(result["device_gib"] for result in samples["results"])
    some = [
        result
        for result in samples["results"]
        if result["device_gib"] == largest and not result["deduplicated"]
    ]
    return format_gain("replay", some)


DEVICE = Replay(
    "replay",
    PROGRAM,
    {
        "comparing the memmaps byte for byte": ["matrix"],
        "comparing those of random cases": ["random", RANDOM_CASES, "1"],
    },
    # GiB of the device, the orders, rounds of each process.
    (["race", "100", "0,9,18,9d,18d", "3"], ["race", "16", "0-18", "3"]),
    partial(format_races, name_race),
    format_verdict,
    draw_race,
)
