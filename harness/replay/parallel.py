# SPDX-License-Identifier: GPL-2.0
"""`make replay-parallel`: one namespace by several threads, compared with base and timed.

The program is that of `make replay`. It links the series' kernel/padata.o, so the kernel splits
the range. The works that padata queues run on threads of user space (replay/device/threads.c).
"""

import statistics

from harness.core.stages import run_stage
from harness.replay.device import PROGRAM, name_race
from harness.replay.run import Replay, run_replay
from harness.replay.samples import Result, Samples, find_ratio, find_times, list_runners

# More than the machine has, so that threads also wait for each other.
THREADS = (2, 3, 8)
RANDOM_CASES = "3000"
SIZES = (128, 256, 512, 1024, 2048, 4096)


def name_device(result: Result) -> str:
    """Return the size of the device and the order."""
    return name_race(result | {"device_gib": 0}).replace("   0 G", f"{result['device_mib']:6} M")


def format_table(samples: Samples) -> str:
    """Return two lines for each race: the times, and what all CPUs gain.

    The gain is that of the series, of the series split as much as possible, and of a fill.
    """
    rows = []
    for result in samples["results"]:
        cpus = result["cpus"]
        times = ", ".join(
            f"{runner} {statistics.median(find_times(result, runner)):.2f}"
            for runner in list_runners(result)
        )
        gains = {
            "series": ("series 1", f"series {cpus}"),
            "split": ("series 1", f"split {cpus}"),
            "fill": ("fill 1", f"fill {cpus}"),
            "of base": ("base 1", f"series {cpus}"),
        }
        told = ", ".join(f"{name} {find_ratio(result, *pair)}" for name, pair in gains.items())
        rows += [f"{name_device(result)}: {times}", f"    {cpus} threads, of 1: {told}"]
    return "\n".join(rows) + "\n"


def format_verdict(samples: Samples) -> str:
    """Return the last line: the largest device at order 0."""
    largest = max(result["device_mib"] for result in samples["results"])
    race = next(
        result
        for result in samples["results"]
        if result["device_mib"] == largest and result["order"] == 0
    )
    cpus = race["cpus"]
    one, base = (find_ratio(race, name, f"series {cpus}") for name in ("series 1", "base 1"))
    return f"parallel: {cpus} threads {one} of one, {base} of base"


PARALLEL = Replay(
    "parallel",
    PROGRAM,
    {
        f"comparing the memmaps of {threads} threads, {words[0]}": [
            "threads",
            str(threads),
            *words,
        ]
        for threads in THREADS
        for words in (["matrix"], ["random", RANDOM_CASES, "1"])
    },
    # MiB of the device, orders (d: deduplicated), rounds of each process.
    (
        *(["parallel", str(mib), "0,9", "11"] for mib in SIZES),
        ["parallel", "16384", "0,1,3,9,18,9d,18d", "3"],
        ["parallel", "102400", "0,9,9d", "3"],
    ),
    format_table,
    format_verdict,
    peer=False,
)

if __name__ == "__main__":
    run_stage(lambda options: run_replay(options, PARALLEL))
