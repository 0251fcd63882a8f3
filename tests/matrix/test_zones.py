# SPDX-License-Identifier: GPL-2.0
"""Boot gives each zone the same memory, whenever a kernel boots, and in base and series."""

from dataclasses import replace

import pytest

from harness.cells import boots, zones
from harness.kernel import configs
from harness.kernel.config import KernelConfig
from harness.kernel.configs import MEASURED
from support import Builder, fail_if

REBOOTS = 20
# CPUs and nodes of the guests in which base and series have to have the same memory.
SHAPES = ((1, 1), (1, 2), (2, 1), (2, 2))


def count(
    builder: Builder,
    side: str,
    cpus: int = 2,
    nodes: int = 1,
    config: KernelConfig = configs.TESTED,
    more: str = "",
) -> str:
    """Return the console of a kernel that only tells of its zones.

    Where KASLR puts the kernel decides whether one or two pages more are managed.
    """
    boot = boots.make_boot(boots.GUEST / "boot-memory")
    words = f"{boot.words} zdm.deferred={nodes} nokaslr {more}"
    boot = replace(boot, words=words, config=config, cpus=cpus, nodes=nodes)
    return builder.boot(side, "boot-memory-count", boot)[0]


@pytest.mark.full
def test_reboot(builder: Builder) -> None:
    first = count(builder, "series")
    for _ in range(REBOOTS - 1):
        fail_if(zones.compare_zones(first, count(builder, "series")))


@pytest.mark.full
@pytest.mark.parametrize(
    "cpus, nodes, words",
    [*((*shape, "") for shape in SHAPES), (2, 1, "cma=1G"), (2, 2, "hugetlb_cma=1:1G")],
)
def test_same_memory(builder: Builder, cpus: int, nodes: int, words: str) -> None:
    """Both without the suites, which take memory.

    One of 9 boots of a base left 14 pages less than the others, so what differs boots again.
    """
    for _ in range(2):
        base, series = (
            count(builder, side, cpus, nodes, MEASURED, words) for side in ("base", "series")
        )
        if not (why := zones.compare_zones(base, series)):
            break
    fail_if(why)
