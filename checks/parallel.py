# SPDX-License-Identifier: GPL-2.0
"""Boots in which helpers of padata initialise the memmaps of two devices: see guest/parallel."""

import re
from pathlib import Path
from typing import NamedTuple

from checks import boot_memory
from harness.core.options import Options
from harness.kernel.images import Kernel
from harness.vm.accel import choose_accel
from harness.vm.devices import PAIR
from harness.vm.guest import Guest, boot_guest, need_memory

# It has lockdep, and the trace points that show which works are queued.
CONFIG = boot_memory.DEBUG
# Each device has four times the least that a thread takes.
GIB = 4.5
# How often guest/parallel repeats binds.
TIMES = 10
LIMIT = 3600
SILENCE = 300
HELPERS = re.compile(r"^helpers: (\w+): (\d+) queued, (\d+) started$")


class Helpers(NamedTuple):
    """How many helpers padata queued for a bind, and how many of them started."""

    queued: int
    started: int


def boot_parallel(
    options: Options,
    kernel: Kernel,
    initramfs: Path,
    cpus: int,
    rebinds: int,
    words: str = "",
) -> dict[str, list[Helpers]]:
    """Boot once with cpus processors; return the helpers by what guest/parallel calls the bind.

    words are for the kernel's command line.

    Raises UserError as boot_guest() does.
    """
    need_memory(GIB, PAIR)
    found: dict[str, list[Helpers]] = {}

    def read(spoken: str) -> None:
        if match := HELPERS.match(spoken):
            found.setdefault(match[1], []).append(Helpers(int(match[2]), int(match[3])))

    guest = Guest(
        kernel,
        initramfs,
        choose_accel(options, kernel, initramfs),
        GIB,
        # The last CPU is isolated, so what counts CPUs for helpers has a mask to read.
        f"zdm.do=rebind,parallel zdm.rebinds={rebinds} zdm.times={TIMES}"
        + f" isolcpus={cpus - 1}" * (cpus > 1)
        + f" {words}",
        devices=PAIR,
        cpus=cpus,
    )
    boot_guest(guest, options.build / f"parallel-{kernel.name}-{cpus}.log", read, LIMIT, SILENCE)
    return found
