# SPDX-License-Identifier: GPL-2.0
"""`make replay-boot`, `make replay-online`: struct pages of boot and of memory that comes online.

One program compares and races how both kernels initialise deferred and reserved memory of boot, and
blocks of memory that come online.
"""

from collections.abc import Sequence
from functools import partial

from harness.kernel.config import turn_off, turn_on
from harness.replay.build import CLANG, DEBIAN, DEBUG, REPLAY, TRACED, Program, vary
from harness.replay.run import Replay
from harness.replay.samples import Result, format_gain, format_races

CONFIGS = {"debian": DEBIAN} | {
    config.name.removeprefix("boot-"): config
    for config in (
        # Jump labels are as in a distribution's kernel: a static key that is off costs a NOP.
        vary("boot-default", *turn_on("JUMP_LABEL")),
        # Static keys are variables, so that check_pages= can be switched on.
        vary("boot-keys"),
        vary("boot-trace", *turn_on("DEBUG_PAGE_REF"), fragments=TRACED),
        vary("boot-debug", *DEBUG),
        # Pageblocks as large as the blocks that are freed.
        vary(
            "boot-pageblock",
            *turn_on("NUMA MEMORY_HOTPLUG DEFERRED_STRUCT_PAGE_INIT"),
            fragments=("common", "fortify"),
        ),
        vary(
            "boot-nomemcg",
            *turn_off("MEMCG"),
            *turn_on("EXPERT VM_EVENT_COUNTERS"),
            *turn_off("ZONE_DMA"),
        ),
        vary("boot-clang", tools=CLANG),
    )
}
PROGRAM = Program(
    "boot",
    REPLAY / "boot",
    CONFIGS,
    (
        "mm/mm_init",
        "mm/page_alloc",
        "mm/memblock",
        "mm/vmstat",
        "mm/memory_hotplug",
        "mm/page_isolation",
        "kernel/padata",
    ),
    ("replay_event", "replay_queue", "replay_cancel"),
    # Its address is taken, so the compiler keeps its calling convention.
    words=("--globalize-symbol=deferred_init_memmap",),
    fallback=True,
)


def name_race(result: Result) -> str:
    """Return the size of the zone or of the blocks, and what else tells rows."""
    if "block_mib" in result:
        return f"blocks of {result['block_mib']:>4} MiB"
    threads = f", threads {result['threads']}, wall clock" if "threads" in result else ""
    return f"{result['gib']:>4} GiB, {result['what']}{threads}"


def compare(what: str, cases: int) -> dict[str, Sequence[str]]:
    """Return how to compare what the program calls WHAT, with so many random cases."""
    return {
        f"comparing memmaps and free lists of random cases byte for byte, {what}": [
            *("random", what, "0", str(cases), "1")
        ]
    }


TABLE = partial(format_races, name_race)
BOOT = Replay(
    "boot",
    PROGRAM,
    compare("deferred", 1000) | compare("reserved", 1000),
    # GiB of the zone, rounds of each process; the last row, the largest zone, makes the verdict.
    (
        *(["race", "reserved", gib, "3"] for gib in ("16", "100")),
        *(
            ["race", "deferred", "16", "3"],
            ["threads", "100", "3"],
            ["race", "deferred", "100", "3"],
        ),
    ),
    TABLE,
    lambda samples: format_gain("boot", samples["results"][-1:]),
)
ONLINE = Replay(
    "online",
    PROGRAM,
    compare("online", 200),
    # GiB of memory, whose struct pages are larger than the caches, and rounds of each process.
    (["race", "online", "8", "9"],),
    TABLE,
    lambda samples: format_gain("online", samples["results"]),
)
