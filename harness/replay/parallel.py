# SPDX-License-Identifier: GPL-2.0
"""`make replay-parallel`: binds by several threads, compared with base and timed.

Several threads fill one large device, or each of many small ones is bound by one thread: one after
another, and two at once.

The program is that of `make replay`. It links the series' kernel/padata.o, so the kernel splits
the range. The works that padata queues run on threads of user space (replay/threads.c).
"""

from collections.abc import Callable

from harness.replay.device import PROGRAM
from harness.replay.run import Replay
from harness.replay.samples import Result, Samples, find_ratio, find_time, list_runners

# More than the machine has, so that threads also wait for each other.
THREADS = (2, 3, 8)
RANDOM_CASES = "10000"
SIZES = (128, 256, 512, 1024, 2048, 4096)


def is_small(result: Result) -> bool:
    """Return whether many small devices were bound. Older records have no such races."""
    return bool(result.get("devices", 1) > 1)


def find_cost(result: Result, runner: str) -> float:
    """Return how long the bind of one small device takes, in us of wall clock.

    The number behind the runner's name is how many threads bind at once.
    """
    threads = int(runner.split()[1])
    return find_time(result, runner) * 1000 * threads / float(result["devices"])


def name_device(result: Result) -> str:
    """Return the size of the device and the order; d is for a deduplicated memmap."""
    return f"{result['device_mib']:>6} MiB, order {result['order']}{'d' * result['deduplicated']}"


def format_table(samples: Samples) -> str:
    """Return two lines for each race: the times, and what is gained.

    For one device, that is what all CPUs gain: the series, the series split as much as possible, a
    fill, and the series over base. For many small ones, it is base / series.
    """
    rows = []
    for result in samples["results"]:
        cpus, name, what = result["cpus"], name_device(result), f"{result['cpus']} threads, of 1"
        find: Callable[[Result, str], float] = find_time
        gains = {
            "series": ("series 1", f"series {cpus}"),
            "split": ("series 1", f"split {cpus}"),
            "fill": ("fill 1", f"fill {cpus}"),
            "of base": ("base 1", f"series {cpus}"),
        }
        if is_small(result):
            name += f", {result['devices']} devices, us for each"
            find, what = find_cost, "base / series"
            gains = {
                "one after another": ("base 1", "series 1"),
                "two at once": ("base 2", "series 2"),
            }
        times = ", ".join(f"{one} {find(result, one):.2f}" for one in list_runners(result))
        told = ", ".join(f"{one} {find_ratio(result, *pair)}" for one, pair in gains.items())
        rows += [f"{name}: {times}", f"    {what}: {told}"]
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
    {"comparing the memmaps of two devices at once": ["beside", "random", RANDOM_CASES, "1"]}
    | {
        f"comparing the memmaps of {threads} threads": [
            *("threads", str(threads), "random", RANDOM_CASES, "1")
        ]
        for threads in THREADS
    },
    # MiB of the device, orders (d: deduplicated), rounds of each process.
    (
        *(["parallel", str(mib), "0,9", "11"] for mib in SIZES),
        ["parallel", "16384", "0,1,3,9,18,9d,18d", "3"],
        ["parallel", "102400", "0,9,9d", "3"],
        # How many devices, and MiB of each.
        ["devices", "1000", "1024", "9d", "11"],
    ),
    format_table,
    format_verdict,
    peer=False,
)
