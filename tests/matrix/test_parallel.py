# SPDX-License-Identifier: GPL-2.0
"""In the VM, helpers are used where they may be, and nothing complains, with lockdep watching."""

from dataclasses import replace

import pytest

from cells import parallel, sanitizers
from support import Builder

# Of each device, so 200 in all.
REBINDS = 100
ALONE = ("bound_by_one_cpu", "bound_from_a_cpuset", "bound_nicely", "with_memmap_on_device")


@pytest.mark.full
@pytest.mark.parametrize("cpus", [1, 8, 9])
def test_helpers(builder: Builder, cpus: int) -> None:
    kernel, rebinds = builder.kernel("series", parallel.CONFIG), REBINDS if cpus == 9 else 1
    judge(
        parallel.boot_parallel(builder.options, builder.trees.series, kernel, cpus, rebinds),
        cpus - 1,
    )


@pytest.mark.full
def test_helpers_count_cores(builder: Builder) -> None:
    kernel = builder.kernel("series", parallel.CONFIG)
    # Of one core, only the second thread is isolated.
    helpers = parallel.boot_parallel(
        builder.options, builder.trees.series, kernel, 16, 1, threads=2
    )
    judge(helpers, 8)


@pytest.mark.full
def test_helpers_with_kasan(builder: Builder) -> None:
    checker = sanitizers.CHECKERS["kasan-ubsan"]
    lines = (*checker.config.lines, *parallel.CONFIG.lines)
    config = replace(checker.config, name=f"{checker.config.name}-caches", lines=lines)
    head = builder.options, builder.trees.series, builder.kernel("series", config)
    judge(parallel.boot_parallel(*head, 9, 1, checker.words), 8)


def judge(helpers: dict[str, list[parallel.Helpers]], cores: int) -> None:
    """Fail unless each way to bind had the helpers that it may have."""
    # A quarter of the cores that are not isolated gets a thread, and one of them is the caller.
    wanted = max(cores // 4, 1) - 1
    # By a task, and by a worker.
    for way in ("rebind", "bound_by_a_worker", "with_memmap_in_ram"):
        assert [queued for queued, *_ in helpers[way]] == [wanted]
    # A helper does not have to: on a busy host, the memmap may be filled before it begins.
    started = sum(started for binds in helpers.values() for _, started, _ in binds)
    assert bool(started) == (wanted > 0)
    assert [helpers[way] for way in ALONE] == [[(0, 0, 0)]] * len(ALONE)


@pytest.mark.full
def test_helpers_are_spread(builder: Builder) -> None:
    kernel = builder.kernel("series", parallel.CONFIG)
    helpers, places = parallel.boot_spread(builder.options, builder.trees.series, kernel)
    # A quarter of the 16 CPUs of the devices' node, without the caller.
    wanted = 3
    for way in ("rebind", "bound_from_afar"):
        assert [queued for queued, *_ in helpers[way]] == [wanted] * parallel.TIMES
        assert max(started for _, started, _ in helpers[way]) == wanted
        queued, ran = (
            [(cache, node) for what, by, _, cache, node in places if (what, by) == (kind, way)]
            for kind in ("queued", "ran")
        )
        assert {node for _, node in queued + ran} == {0}
        # Each helper of a bind was queued for a CPU, in a cache of its own.
        assert len(queued) == wanted * parallel.TIMES
        for first in range(0, len(queued), wanted):
            assert len(set(queued[first : first + wanted])) == wanted
        assert len(set(ran)) >= wanted
    assert len(helpers["all_at_once"]) == parallel.TIMES
    # Of node 1's eight CPUs, one helps to bind its device, whatever node 0 is doing.
    assert wanted < max(queued for queued, *_ in helpers["all_at_once"])
    # Seven devices share the helpers of node 0, if their fills meet.
    assert min(queued for queued, *_ in helpers["all_at_once"]) < 7 * wanted + 1
    assert 0 < max(most for *_, most in helpers["all_at_once"]) <= wanted + 1
    nodes = [node for what, by, *_, node in places if (what, by) == ("queued", "all_at_once")]
    assert nodes.count(1) == parallel.TIMES
    assert [queued for queued, *_ in helpers["bound_beside_fifo"]] == [wanted] * parallel.TIMES
    # A FIFO task may keep a helper from beginning, and the bind must not wait for that.
    assert min(started for _, started, _ in helpers["bound_beside_fifo"]) < wanted
    # Without a work that is free, there is no helper.
    assert len(helpers["bound_beside_pcrypt"]) == parallel.TIMES
    assert min(queued for queued, *_ in helpers["bound_beside_pcrypt"]) < wanted
