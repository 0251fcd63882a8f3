# SPDX-License-Identifier: GPL-2.0
"""`make replay-boot`: compare and race how both kernels initialise boot memory."""

from functools import partial

from harness.replay.build import CLANG, REPLAY, TRACED, Program, vary
from harness.replay.run import Replay
from harness.replay.samples import Result, Samples, format_gain, format_races

CONFIGS = {
    config.name.removeprefix("boot-"): config
    for config in (
        # Jump labels are as in a distribution's kernel: a static key that is off costs a NOP.
        vary("boot-default", "CONFIG_JUMP_LABEL=y"),
        # Static keys are variables, so that check_pages= can be switched on.
        vary("boot-keys"),
        vary("boot-trace", "CONFIG_DEBUG_PAGE_REF=y", fragments=TRACED),
        vary("boot-debug", "CONFIG_DEBUG_VM=y", "CONFIG_DEBUG_VM_PGFLAGS=y"),
        # Pageblocks as large as the blocks that are freed.
        vary(
            "boot-pageblock",
            "CONFIG_NUMA=y",
            "CONFIG_MEMORY_HOTPLUG=y",
            "CONFIG_DEFERRED_STRUCT_PAGE_INIT=y",
            fragments=("common", "fortify"),
        ),
        vary(
            "boot-nomemcg",
            "# CONFIG_MEMCG is not set",
            "CONFIG_EXPERT=y",
            "CONFIG_VM_EVENT_COUNTERS=y",
            "# CONFIG_ZONE_DMA is not set",
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
    ("boot_free", "boot_ref_set", "boot_warn", "boot_memory", "replay_queue", "replay_cancel"),
    optional={"hugetlb_bootmem_struct_page_init": "mm/hugetlb"},
    # Its address is taken, so the compiler keeps its calling convention.
    exposed="deferred_init_memmap",
    fallback=("mm/mm_init", "mm/hugetlb"),
)


def name_race(result: Result) -> str:
    """Return the size of the zone, what ran, and with how many threads if by wall clock."""
    threads = f", threads {result['threads']}, wall clock" if "threads" in result else ""
    return f"{result['gib']:>4} GiB, {result['what']}{threads}"


def format_verdict(samples: Samples) -> str:
    """Return the last line: deferred initialisation of the largest zone."""
    return format_gain("boot", samples["results"][-1:])


BOOT = Replay(
    "boot",
    PROGRAM,
    {
        "comparing memmaps and free lists byte for byte": ["matrix", "deferred"],
        "comparing those of random cases": ["random", "deferred", "0", "1000", "1"],
    },
    # GiB of the zone, rounds of each process; the last one makes the verdict.
    (["race", "deferred", "16", "3"], ["threads", "100", "3"], ["race", "deferred", "100", "3"]),
    partial(format_races, name_race),
    format_verdict,
)
