# SPDX-License-Identifier: GPL-2.0
"""In the VM, helpers are used where they may be, and nothing complains, with lockdep watching."""

import pytest
from support import Lab

from checks import parallel, sanitizers

# Of each device, so 200 in all.
REBINDS = 100
ALONE = ("bound_by_one_cpu", "bound_from_a_cpuset", "bound_nicely")


@pytest.mark.full
@pytest.mark.parametrize("cpus", [1, 4, 8])
def test_helpers(lab: Lab, cpus: int) -> None:
    kernel, rebinds = lab.kernel("series", parallel.CONFIG), REBINDS if cpus == 8 else 1
    judge(parallel.boot_parallel(lab.options, lab.trees.series, kernel, cpus, rebinds), cpus)


@pytest.mark.full
def test_helpers_with_kasan(lab: Lab) -> None:
    checker = sanitizers.CHECKERS["kasan-ubsan"]
    head = lab.options, lab.trees.series, lab.kernel("series", checker.config)
    judge(parallel.boot_parallel(*head, 4, 1, checker.words), 4)


def judge(helpers: dict[str, list[tuple[int, int]]], cpus: int) -> None:
    """Fail unless each way to bind had the helpers that it may have."""
    # A quarter of the CPUs of the node gets a thread, and one of them is the caller.
    wanted = max(cpus // 4, 1) - 1
    # The pool has a work for each possible CPU, so one of two binds at once may get fewer.
    at_once = range(wanted, 2 * wanted + 1)
    # By a task, and by a worker.
    for way in ("rebind", "bound_by_a_worker"):
        [(queued, started)] = helpers[way]
        assert queued == wanted
        # None has to start, but the memmap takes far longer to fill than a worker to start.
        assert bool(started) == (wanted > 0)
    assert [helpers[way] for way in ALONE] == [[(0, 0)]] * len(ALONE)
    assert len(helpers["bound_at_once"]) == parallel.TIMES
    assert all(queued in at_once for queued, _ in helpers["bound_at_once"])
