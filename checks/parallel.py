# SPDX-License-Identifier: GPL-2.0
"""Boots in which helpers of padata initialise the memmaps of two devices: see guest/parallel."""

import re
from pathlib import Path

from checks import boot_memory
from checks.boots import Boot, boot_once
from harness.core.options import Options
from harness.kernel.images import Kernel
from harness.vm.console import list_messages
from harness.vm.devices import PAIR

# It has lockdep, and the trace points that show which works are queued.
CONFIG = boot_memory.DEBUG
# How often guest/parallel repeats binds.
TIMES = 10
HELPERS = re.compile(r"helpers: (\w+): (\d+) queued, (\d+) started")


def boot_parallel(
    options: Options, source: Path, kernel: Kernel, cpus: int, rebinds: int, words: str = ""
) -> dict[str, list[tuple[int, int]]]:
    """Boot once with cpus processors; return the helpers by what guest/parallel calls the bind.

    They are how many padata queued for a bind, and how many of them started. words are for the
    kernel's command line. Raises UserError as boot_guest() does.
    """
    words = f"zdm.rebinds={rebinds} zdm.times={TIMES} {words}"
    # The last CPU is isolated, so what counts CPUs for helpers has a mask to read.
    words += f" isolcpus={cpus - 1}" * (cpus > 1)
    # Each device has four times the least that a thread takes.
    boot = Boot("rebind,parallel", words, CONFIG, gib=4.5, devices=PAIR, cpus=cpus)
    console, _ = boot_once(options, source, kernel, f"parallel-{cpus}", boot)
    found: dict[str, list[tuple[int, int]]] = {}
    for match in filter(None, map(HELPERS.fullmatch, list_messages(console))):
        found.setdefault(match[1], []).append((int(match[2]), int(match[3])))
    return found
