# SPDX-License-Identifier: GPL-2.0
"""What this process may use of the machine: CPUs and memory, also in a container."""

import os
import re
from pathlib import Path

PROC = Path("/proc")
CGROUPS = Path("/sys/fs/cgroup")


def count_cpus() -> int:
    return len(os.sched_getaffinity(0))


def find_free_memory() -> float:
    """Return the free GiB: of the machine, or less where a cgroup of this process has a limit."""
    match = re.search(r"MemAvailable: +(\d+) kB", (PROC / "meminfo").read_text())
    free = [int(match[1]) << 10] if match else []
    own = re.search(r"^0::/(.*)$", (PROC / "self/cgroup").read_text(), re.M)
    group = CGROUPS / (own[1] if own else "")
    for folder in (group, *group.parents):
        most, used = folder / "memory.max", folder / "memory.current"
        if most.exists() and (limit := most.read_text().strip()).isdigit():
            cached = re.search(r"^inactive_file (\d+)$", (folder / "memory.stat").read_text(), re.M)
            # As in MemAvailable, files that nobody reads make room.
            free.append(int(limit) - int(used.read_text()) + int(cached[1] if cached else 0))
    return min(free, default=0) / 2**30
