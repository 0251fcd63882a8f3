# SPDX-License-Identifier: GPL-2.0
"""`make bench-demotion`: memory is demoted to an NVDIMM in the VM, in each way: guest/demotion.

Two nodes of RAM are the top tier. The NVDIMM is a node without CPUs, and the lower tier.
"""

import re

from checks.boots import Boot, check
from harness.core.errors import UserError
from harness.core.options import Options
from harness.core.progress import say
from harness.core.stages import run_stage
from harness.kernel.config import MEASURED, KernelConfig
from harness.kernel.images import build_kernel
from harness.kernel.tree import apply_series

RAM_GIB = 4
SLOW_GIB = 2
SLOW = (
    f"-m slots=1,maxmem={RAM_GIB + SLOW_GIB + 4}G "
    "-numa node,nodeid=2 "
    f"-object memory-backend-ram,id=slow,size={SLOW_GIB}G,reserve=off "
    "-device nvdimm,id=nvdimm0,memdev=slow,node=2"
).split()
# What offlining says of pages that something else holds right then. It tries again.
HELD = re.compile(r"page dumped because: (?:isolation failed|migration failure)\b")
BOOT = Boot(
    "demotion",
    config=KernelConfig("demotion", (*MEASURED.fragments, "tracers", "kprobes", "demotion")),
    ram_gib=RAM_GIB,
    added_gib=SLOW_GIB,
    nodes=2,
    args=SLOW,
    # A check is silent while it waits for DAMON or for a promotion.
    silence=600,
    harmless=lambda line: bool(HELD.search(line)),
)


def run_demotion(options: Options) -> None:
    """Boot base and series; Raises UserError if a check fails."""
    trees = apply_series(options)
    for name in ("base", "series"):
        kernel = build_kernel(options, name, getattr(trees, name), BOOT.config)
        if why := check(options, trees.series, kernel, "demotion", BOOT):
            raise UserError(f"{kernel.name}: not all checks passed", why.splitlines())
    say("every byte arrived; the series streams to the lower tier and nowhere else")


if __name__ == "__main__":
    run_stage(run_demotion)
