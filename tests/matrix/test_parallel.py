# SPDX-License-Identifier: GPL-2.0
"""In the VM, helpers are used where they may be, and nothing complains, with lockdep watching.

Helpers of padata initialise memmaps in guest/parallel and guest/spread, which tell of them.
"""

import re
from dataclasses import replace

import pytest

from cells import boot_memory
from cells.boots import Boot
from harness.kernel.config import turn_on
from harness.vm.console import list_messages
from harness.vm.devices import Device
from harness.vm.userland import find_program, pack_programs
from support import Builder

pytestmark = pytest.mark.full

# It has lockdep, and the trace points that show which works are queued.
# More CPUs than a guest has otherwise, and a scheduler that knows which share a cache.
LINES = ("CONFIG_NR_CPUS=32", *turn_on("SCHED_MC"))
CONFIG = replace(boot_memory.DEBUG, name="caches", lines=LINES)
# Of each device, so 200 in all.
REBINDS = 100
# How often guest/parallel repeats binds.
TIMES = 10
# Each device has four times the least that a thread takes, if it is not deduplicated.
GIB = 4.5
HELPERS = re.compile(r"helpers: (\w+): (\d+) queued, (\d+) started, (\d+) at a time")
PLACE = re.compile(r"(queued|ran): (\w+): cpu \d+ cache (\S+) node(\d+)")
# In other CPUs than Intel's, QEMU gives a die no last-level cache, and the kernel may not see which
# threads share a core.
INTEL = "-cpu max,vendor=GenuineIntel"
# Two nodes with 16 and 8 CPUs, of which each four share a last-level cache.
CPUS = f"-smp 24,sockets=2,dies=4,cores=4,threads=1,maxcpus=32 {INTEL}"
ALONE = ("bound_by_one_cpu", "bound_from_a_cpuset", "bound_nicely", "with_memmap_on_device")


def list_fsdax(*nodes: int) -> tuple[Device, ...]:
    """Return a device on each of these nodes, otherwise all alike."""
    return tuple(Device(f"nd_pmem-{n}", "fsdax", 2, node) for n, node in enumerate(nodes))


def find_helpers(console: str) -> dict[str, list[tuple[int, ...]]]:
    """Return by bind, as the guest calls it, how many helpers were queued, started, ran at once."""
    found: dict[str, list[tuple[int, ...]]] = {}
    for match in filter(None, map(HELPERS.fullmatch, list_messages(console))):
        found.setdefault(match[1], []).append(tuple(map(int, match.groups()[1:])))
    return found


def check_helpers(
    builder: Builder, cpus: int, cores: int, rebinds: int = 1, args: str = "", sanitizer: str = ""
) -> None:
    """Boot with that many CPUs and cores, and fail unless each bind had the helpers that it may.

    sanitizer is the name of one of CHECKERS, whose kernel it then is.
    """
    words = f"zdm.rebinds={rebinds} zdm.times={TIMES} zdm.map=mem"
    # The last CPU is isolated, so what counts CPUs for helpers has a mask to read.
    words += f" isolcpus={cpus - 1}" * (cpus > 1)
    boot = Boot("rebind,parallel", words, CONFIG, gib=GIB, devices=list_fsdax(0, 0), cpus=cpus)
    boot, name = replace(boot, args=args.split()), f"parallel-{cpus}"
    if sanitizer:
        told, _ = builder.boot_checked(sanitizer, name, boot, GIB)
    else:
        told, _ = builder.boot("series", name, boot)
    helpers = find_helpers(told)
    # A quarter of the cores that are not isolated gets a thread, and one of them is the caller.
    wanted = max(cores // 4, 1) - 1
    # By a task, and by a worker.
    for way in ("rebind", "bound_by_a_worker", "with_memmap_in_ram"):
        assert [queued for queued, *_ in helpers[way]] == [wanted]
    # A helper does not have to: on a busy host, the memmap may be filled before it begins.
    started = sum(started for binds in helpers.values() for _, started, _ in binds)
    assert bool(started) == (wanted > 0)
    assert [helpers[way] for way in ALONE] == [[(0, 0, 0)]] * len(ALONE)


@pytest.mark.parametrize("cpus", [1, 8, 9])
def test_helpers(builder: Builder, cpus: int) -> None:
    check_helpers(builder, cpus, cpus - 1, rebinds=REBINDS if cpus == 9 else 1)


def test_helpers_count_cores(builder: Builder) -> None:
    # Of one core, only the second thread is isolated.
    check_helpers(builder, 16, 8, args=f"-smp 16,sockets=1,cores=8,threads=2 {INTEL}")


@pytest.mark.parametrize("name", ["kasan-ubsan", "kcsan-debug"])
def test_helpers_with_sanitizer(builder: Builder, name: str) -> None:
    check_helpers(builder, 9, 8, sanitizer=name)


def test_helpers_are_spread(builder: Builder) -> None:
    """With six caches, each helper of a bind is queued for a CPU in a cache of its own."""
    # What a bind does under a lock must be short beside the fill, or no two fills meet.
    quick = f"debug_pagealloc=off vm_debug=- {boot_memory.QUICK}"
    words = f"zdm.rebinds=1 zdm.times={TIMES} zdm.map=mem {quick}"
    devices = list_fsdax(*[0] * 7, 1)
    boot = Boot("rebind,spread", words, CONFIG, gib=GIB, devices=devices, ram_gib=4, cpus=24)
    chrt = pack_programs(find_program("chrt"))
    boot = replace(boot, nodes=2, args=CPUS.split(), files=lambda *_: chrt)
    told, _ = builder.boot("series", "spread", boot)
    helpers = find_helpers(told)
    # Of each helper: "queued" or "ran", the bind, the CPUs that share the cache, and the node.
    places = [one.groups() for one in map(PLACE.fullmatch, list_messages(told)) if one]
    # A quarter of the 16 CPUs of the devices' node, without the caller.
    wanted = 3
    for way in ("rebind", "bound_from_afar"):
        assert [queued for queued, *_ in helpers[way]] == [wanted] * TIMES
        assert max(started for _, started, _ in helpers[way]) == wanted
        queued, ran = (
            [(cache, node) for what, by, cache, node in places if (what, by) == (kind, way)]
            for kind in ("queued", "ran")
        )
        assert {node for _, node in queued + ran} == {"0"}
        # Each helper of a bind was queued for a CPU, in a cache of its own.
        assert len(queued) == wanted * TIMES
        for first in range(0, len(queued), wanted):
            assert len(set(queued[first : first + wanted])) == wanted
        assert len(set(ran)) >= wanted
    assert len(helpers["all_at_once"]) == TIMES
    # Of node 1's eight CPUs, one helps to bind its device, whatever node 0 is doing.
    assert wanted < max(queued for queued, *_ in helpers["all_at_once"])
    # Seven devices share the helpers of node 0, if their fills meet.
    assert min(queued for queued, *_ in helpers["all_at_once"]) < 7 * wanted + 1
    assert 0 < max(most for *_, most in helpers["all_at_once"]) <= wanted + 1
    nodes = [node for what, by, _, node in places if (what, by) == ("queued", "all_at_once")]
    assert nodes.count("1") == TIMES
    assert [queued for queued, *_ in helpers["bound_beside_fifo"]] == [wanted] * TIMES
    # A FIFO task may keep a helper from beginning, and the bind must not wait for that.
    assert min(started for _, started, _ in helpers["bound_beside_fifo"]) < wanted
