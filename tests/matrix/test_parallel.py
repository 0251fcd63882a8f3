# SPDX-License-Identifier: GPL-2.0
"""In the VM, helpers of padata initialise memmaps where and as many as they may, with lockdep."""

from dataclasses import replace

import pytest

from cells import boot_memory
from cells.boots import Boot, judge
from harness.kernel.config import turn_off, turn_on
from harness.vm.devices import Device
from harness.vm.userland import find_program, pack_programs
from support import Builder, fail_if

pytestmark = pytest.mark.full

# It has lockdep, and the trace points that show which works are queued. More CPUs than a guest has
# otherwise, a scheduler that knows which share a cache, and nohz_full=.
LINES = ("CONFIG_NR_CPUS=32", *turn_on("SCHED_MC NO_HZ_FULL"), *turn_off("NO_HZ_IDLE"))
CONFIG = replace(boot_memory.DEBUG, name="caches", lines=LINES)
# Each device has four times the least that a thread takes, if it is not deduplicated.
GIB = 4.5
# In other CPUs than Intel's, QEMU gives a die no last-level cache. Two nodes with 16 and 8 CPUs, of
# which each four share a last-level cache.
CACHES = [
    "-smp",
    "24,sockets=2,dies=4,cores=4,threads=1,maxcpus=32",
    "-cpu",
    "max,vendor=GenuineIntel",
]


def make_boot(cpus: int, *nodes: int, scripts: str = "rebind,parallel", words: str = "") -> Boot:
    """Return a boot with a device on each of these nodes. Of many CPUs, two are isolated."""
    isolated = f"isolcpus={cpus - 1} nohz_full={cpus - 2}" * (2 < cpus < 24)
    words = f"zdm.rebinds=100 zdm.times=10 zdm.map=mem {isolated} {words}"
    devices = [Device(f"nd_pmem-{n}", "fsdax", 2, node) for n, node in enumerate(nodes)]
    return Boot(scripts, words, CONFIG, gib=GIB, devices=devices, cpus=cpus)


@pytest.mark.parametrize("cpus", [1, 8])
def test_helpers(builder: Builder, cpus: int) -> None:
    builder.check("series", f"parallel-{cpus}", make_boot(cpus, 0, 0))


@pytest.mark.parametrize("name", ["kasan-ubsan", "kcsan-debug"])
def test_helpers_with_sanitizer(builder: Builder, name: str) -> None:
    boot = make_boot(8, 0, 0, words="zdm.rebinds=1")
    fail_if(judge(*builder.boot_checked(name, "parallel", boot, GIB)))


def test_helpers_on_nodes(builder: Builder) -> None:
    # What a bind does under a lock must be short beside the fill, or no two fills meet.
    words = f"zdm.rebinds=1 debug_pagealloc=off vm_debug=- {boot_memory.QUICK}"
    boot = make_boot(24, 0, 0, 0, 1, 2, scripts="rebind,parallel,parallel-nodes", words=words)
    programs = pack_programs(find_program("chrt"))
    boot = replace(boot, nodes=3, ram_gib=6, args=CACHES, files=lambda *_: programs)
    builder.check("series", "parallel-nodes", boot)
