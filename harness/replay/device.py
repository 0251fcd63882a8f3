# SPDX-License-Identifier: GPL-2.0
"""`make replay`: prove that both kernels build the same memmap, and race them at native speed."""

from collections.abc import Sequence

from harness.replay.build import CONFIGS, REPLAY, Program
from harness.replay.plot import draw_race
from harness.replay.run import Replay
from harness.replay.samples import (
    Result,
    Samples,
    align_rows,
    find_ratio,
    find_time,
    format_gain,
    format_races,
    list_runners,
)

PROGRAM = Program(
    "replay",
    REPLAY / "device",
    CONFIGS,
    ("mm/mm_init",),
    ("replay_event", "replay_pgmap", "replay_queue", "replay_cancel"),
    # What the kernel calls to split a range among threads, and what it calls instead.
    optional={"padata_do_multithreaded": "kernel/padata"},
    words=("--redefine-sym=padata_do_multithreaded=replay_do_multithreaded",),
    fallback=True,
)
RANDOM_CASES = "30000"


def name_race(result: Result) -> str:
    """Return the size of the device and the order; d is for a deduplicated memmap."""
    return f"{result['device_gib']:>4} GiB, order {result['order']}{'d' * result['deduplicated']}"


def format_touched(results: Sequence[Result]) -> str:
    """Return a table: us that a runner takes to fill small memmaps, and with a store to each page.

    The ratios are base / runner, the stores included.
    """
    runners = list_runners(results[0], "fill")
    rows = [["", *(head for one in runners for head in ("", one))]]
    rows[0] += [f"base/{one}" for one in runners[1:]]
    for result in results:
        name = f"{result['pages'] * 64 >> 10:>5} KiB, order {result['order']}"
        name += f"{'d' * result['deduplicated']}{', zeroed' * result['zeroed']}"
        times = [
            f"{find_time(result, one, what) * (result['pages'] / 1000):.1f}"
            for one in runners
            for what in ("fill", "touched")
        ]
        ratios = [find_ratio(result, "base", one, "touched") for one in runners[1:]]
        rows.append([name, *times, *ratios])
    return "us to fill, and with a store to each struct page behind that\n" + align_rows(rows)


def format_table(samples: Samples) -> str:
    touched = [result for result in samples["results"] if "zeroed" in result]
    others = [result for result in samples["results"] if "zeroed" not in result]
    return format_races(name_race, {"results": others}) + format_touched(touched)


def format_verdict(samples: Samples) -> str:
    """Return the last line: the largest device, all its orders that are not deduplicated."""
    results = samples["results"]
    # Small memmaps are of no device.
    largest = max(result.get("device_gib", 0) for result in results)
    some = [
        result
        for result in results
        if result.get("device_gib") == largest and not result["deduplicated"]
    ]
    return format_gain("replay", some)


DEVICE = Replay(
    "replay",
    PROGRAM,
    {"comparing the memmaps of random cases byte for byte": ["random", RANDOM_CASES, "1"]},
    # GiB of the device, the orders, rounds of each process.
    (
        ["race", "100", "0,9,18,9d,18d", "3"],
        ["race", "16", ",".join(map(str, range(19))), "3"],
        ["touch", "0,9,9d", "3"],
    ),
    format_table,
    format_verdict,
    draw_race,
)
