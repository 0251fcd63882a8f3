# SPDX-License-Identifier: GPL-2.0
"""`make replay-online`, `make replay-hugetlb`: memory blocks online, and boot's pages of 1 GiB.

Both compare and race the kernels with the program of `make replay-boot`.
"""

from collections.abc import Sequence
from functools import partial

from harness.replay.boot import PROGRAM
from harness.replay.run import Replay
from harness.replay.samples import Result, format_gain, format_races


def name_race(result: Result) -> str:
    """Return how large the blocks of memory are, or how many the huge pages."""
    if "block_mib" in result:
        return f"blocks of {result['block_mib']:>4} MiB"
    return f"{result['gib']:>2} page{'s' * (result['gib'] > 1)} of 1 GiB"


def describe_replay(name: str, race: Sequence[str]) -> Replay:
    """Return the replay of what the program calls NAME; its verdict is the mean of all rows."""
    return Replay(
        name,
        PROGRAM,
        {
            "comparing memmaps and free lists byte for byte": ["matrix", name],
            "comparing those of random cases": ["random", name, "0", "200", "1"],
        },
        (["race", name, *race],),
        partial(format_races, name_race),
        lambda samples: format_gain(name, samples["results"]),
    )


# GiB of memory, whose struct pages are larger than the caches, and rounds of each process.
ONLINE = describe_replay("online", ["8", "9"])
# Pages of 1 GiB, rounds of each process.
HUGETLB = describe_replay("hugetlb", ["16", "9"])
