# SPDX-License-Identifier: GPL-2.0
"""A boot in which memory is demoted to an NVDIMM, in each way: guest/demotion.

Two nodes of RAM are the top tier. The NVDIMM is a node without CPUs, and the lower tier.
"""

from cells.boots import Boot
from harness.kernel.config import MEASURED, KernelConfig

RAM_GIB = 4
SLOW_GIB = 2
SLOW = (
    f"-m slots=1,maxmem={RAM_GIB + SLOW_GIB + 4}G "
    "-numa node,nodeid=2 "
    f"-object memory-backend-ram,id=slow,size={SLOW_GIB}G,reserve=off "
    "-device nvdimm,id=nvdimm0,memdev=slow,node=2"
).split()
# As Debian's kernel has it.
WORDS = "init_on_alloc=1"
BOOT = Boot(
    "demotion",
    WORDS,
    config=KernelConfig("demotion", (*MEASURED.fragments, "tracers", "kprobes", "demotion")),
    ram_gib=RAM_GIB,
    added_gib=SLOW_GIB,
    nodes=2,
    args=SLOW,
    # A check is silent while it waits for DAMON or for a promotion.
    silence=600,
)
