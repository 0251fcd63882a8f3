# SPDX-License-Identifier: GPL-2.0
"""`make replay`: prove that both kernels build the same memmap, and race them at native speed."""

from collections.abc import Sequence

from harness.replay.build import CONFIGS, REPLAY, Program
from harness.replay.plot import draw_race
from harness.replay.run import Replay
from harness.replay.samples import (
    Result,
    Samples,
    find_ratio,
    find_time,
    format_gain,
    format_races,
    is_touched,
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
RANDOM_CASES = "20000"


def name_race(result: Result) -> str:
    """Return the size of the device and the order; d is for a deduplicated memmap."""
    return f"{result['device_gib']:>4} GiB, order {result['order']}{'d' * result['deduplicated']}"


def format_touched(results: Sequence[Result]) -> str:
    """Return a table: us that a runner takes to fill small memmaps, and with a store to each page.

    The ratios are base / runner, the stores included.
    """
    rows: list[str] = []
    for result in results:
        runners, microseconds = list_runners(result, "fill"), result["pages"] / 1000
        if not rows:
            rows.append("us to fill, and with a store to each struct page behind that\n")
            rows.append(f"{'':28}" + "".join(f"{runner:>19}" for runner in runners))
            rows[-1] += "".join(f"{f'base/{one}':>20}" for one in runners[1:]) + "\n"
        name = f"{result['pages'] * 64 >> 10:>5} KiB, order {result['order']}"
        name += f"{'d' * result['deduplicated']}{', zeroed' * result['zeroed']}"
        times = "".join(
            f"{find_time(result, one, 'fill') * microseconds:10.1f}"
            f"{find_time(result, one, 'touched') * microseconds:9.1f}"
            for one in runners
        )
        ratios = "".join(f"{find_ratio(result, 'base', one, 'touched'):>20}" for one in runners[1:])
        rows.append(f"{name:28}{times}{ratios}\n")
    return "".join(rows)


def format_table(samples: Samples) -> str:
    touched = [result for result in samples["results"] if is_touched(result)]
    others = [result for result in samples["results"] if not is_touched(result)]
    return format_races(name_race, {"results": others}) + format_touched(touched)


def format_verdict(samples: Samples) -> str:
    """Return the last line: the largest device, all its orders that are not deduplicated."""
    raced = [result for result in samples["results"] if not is_touched(result)]
    largest = max(result["device_gib"] for result in raced)
    some = [
        result for result in raced if result["device_gib"] == largest and not result["deduplicated"]
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
    (
        ["race", "100", "0,9,18,9d,18d", "3"],
        ["race", "16", "0-18", "3"],
        ["touch", "0,9,9d", "3"],
    ),
    format_table,
    format_verdict,
    draw_race,
)
