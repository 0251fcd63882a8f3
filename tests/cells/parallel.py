# SPDX-License-Identifier: GPL-2.0
"""Boots in which helpers of padata initialise memmaps: see guest/parallel and guest/spread."""

import re
from dataclasses import replace
from pathlib import Path

from cells import boot_memory
from cells.boots import Boot, boot_once
from harness.core.options import Options
from harness.kernel.images import Kernel
from harness.vm.console import list_messages
from harness.vm.devices import Device
from harness.vm.userland import find_program, pack_programs

# It has lockdep, and the trace points that show which works are queued.
CONFIG = replace(
    boot_memory.DEBUG,
    name="caches",
    lines=(
        # More CPUs than a guest has otherwise, and a scheduler that knows which share a cache.
        "CONFIG_NR_CPUS=32",
        "CONFIG_SCHED_MC=y",
        # Another user of padata.
        "CONFIG_CRYPTO=y",
        "CONFIG_CRYPTO_AES=y",
        "CONFIG_CRYPTO_GCM=y",
        "CONFIG_CRYPTO_PCRYPT=y",
        "CONFIG_CRYPTO_USER_API_AEAD=y",
    ),
)
# How often guest/parallel repeats binds.
TIMES = 10
# Each device has four times the least that a thread takes, if it is not deduplicated.
GIB = 4.5
HELPERS = re.compile(r"helpers: (\w+): (\d+) queued, (\d+) started, (\d+) at a time")
PLACE = re.compile(r"(queued|ran): (\w+): cpu (\d+) cache (\S+) node(\d+)")
# In other CPUs than Intel's, QEMU gives a die no last-level cache, and the kernel may not see which
# threads share a core.
INTEL = "-cpu max,vendor=GenuineIntel"
# Two nodes with 16 and 8 CPUs, of which each four share a last-level cache.
CPUS = f"-smp 24,sockets=2,dies=4,cores=4,threads=1,maxcpus=32 {INTEL}"
# How many helpers were queued for a bind, how many of them started, and how many ran at a time.
Helpers = tuple[int, int, int]


def list_fsdax(*nodes: int) -> tuple[Device, ...]:
    """Return a device on each of these nodes, otherwise all alike."""
    return tuple(
        Device(f"nd_pmem-{index}", "nd_pmem", "fsdax", 2, node) for index, node in enumerate(nodes)
    )


def find_helpers(console: str) -> dict[str, list[Helpers]]:
    found: dict[str, list[Helpers]] = {}
    for match in filter(None, map(HELPERS.fullmatch, list_messages(console))):
        found.setdefault(match[1], []).append((int(match[2]), int(match[3]), int(match[4])))
    return found


def boot_parallel(
    options: Options,
    source: Path,
    kernel: Kernel,
    cpus: int,
    rebinds: int,
    words: str = "",
    threads: int = 1,
) -> dict[str, list[Helpers]]:
    """Boot once with cpus processors; return the helpers by what guest/parallel calls the bind.

    words are for the kernel's command line, and a core has so many threads.
    """
    words = f"zdm.rebinds={rebinds} zdm.times={TIMES} zdm.map=mem {words}"
    # The last CPU is isolated, so what counts CPUs for helpers has a mask to read.
    words += f" isolcpus={cpus - 1}" * (cpus > 1)
    boot = Boot("rebind,parallel", words, CONFIG, gib=GIB, devices=list_fsdax(0, 0), cpus=cpus)
    if threads > 1:
        smp = f"-smp {cpus},sockets=1,cores={cpus // threads},threads={threads} {INTEL}"
        boot = replace(boot, args=smp.split())
    console, _ = boot_once(options, source, kernel, f"parallel-{cpus}", boot)
    return find_helpers(console)


def boot_spread(
    options: Options, source: Path, kernel: Kernel
) -> tuple[dict[str, list[Helpers]], list[tuple[str, str, int, str, int]]]:
    """Boot once with six caches; return the helpers by bind, and where each was queued and ran.

    The latter are, of each helper: "queued" or "ran", the bind, CPU, the CPUs that share its cache,
    and its node.
    """
    # What a bind does under a lock must be short beside the fill, or no two fills meet.
    quick = f"debug_pagealloc=off vm_debug=- {boot_memory.QUICK}"
    words = f"zdm.rebinds=1 zdm.times={TIMES} zdm.map=mem {quick}"
    devices = list_fsdax(*[0] * 7, 1)
    boot = Boot(
        "rebind,spread", words, CONFIG, gib=GIB, devices=devices, ram_gib=4, cpus=24, nodes=2
    )
    programs = pack_programs(*(find_program(name, "tools-all") for name in ("chrt", "kcapi-enc")))
    boot = replace(boot, args=CPUS.split(), files=lambda *_: programs)
    console, _ = boot_once(options, source, kernel, "spread", boot)
    found = filter(None, map(PLACE.fullmatch, list_messages(console)))
    places = [(one[1], one[2], int(one[3]), one[4], int(one[5])) for one in found]
    return find_helpers(console), places
