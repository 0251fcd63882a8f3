# SPDX-License-Identifier: GPL-2.0
"""`make bench-demotion`: memory is demoted to an NVDIMM in the VM, in each way: guest/demotion.

Two nodes of RAM are the top tier. The NVDIMM is a node without CPUs, and the lower tier. The guest
tells its results as KTAP, as in the robustness boots.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from checks import robustness
from harness.core.errors import UserError
from harness.core.options import Options
from harness.core.progress import announce, say
from harness.core.stages import run_stage
from harness.kernel.config import MEASURED, KernelConfig
from harness.kernel.images import Kernel, build_kernel
from harness.kernel.tree import apply_series
from harness.vm.accel import choose_accel
from harness.vm.console import is_splat
from harness.vm.guest import Guest, boot_guest, need_memory
from harness.vm.initramfs import compile_program, make_initramfs

CONFIG = KernelConfig("demotion", (*MEASURED.fragments, "tracers", "kprobes", "demotion"))
RAM_GIB = 4
SLOW_GIB = 2
SLOW = (
    f"-m slots=1,maxmem={RAM_GIB + SLOW_GIB + 4}G "
    "-numa node,nodeid=2 "
    f"-object memory-backend-ram,id=slow,size={SLOW_GIB}G,reserve=off "
    "-device nvdimm,id=nvdimm0,memdev=slow,node=2"
).split()
SCRIPT = "demotion"
LIMIT = 3600
# A check is silent while it waits for DAMON or for a promotion.
SILENCE = 600
# What offlining says of pages that something else holds right then. It tries again.
HELD = re.compile(r"page dumped because: (?:isolation failed|migration failure)\b")


def make_image(options: Options, source: Path) -> Path:
    """Return the initramfs with guest/demote.c."""
    return make_initramfs(options, source, SCRIPT, compile_program(options, "demote"))


def boot_demotion(
    options: Options,
    source: Path,
    kernel: Kernel,
    initramfs: Path,
    script: str = SCRIPT,
    words: str = "",
    args: Sequence[str] = (),
) -> str:
    """Boot once and return in what it was not as planned, empty if it was.

    source is the worktree whose parser reads the console. Raises UserError as boot_guest() does.
    """
    need_memory(0, (), RAM_GIB + SLOW_GIB)
    log = options.build / f"{script}-{kernel.name}.log"
    guest = Guest(
        kernel,
        initramfs,
        choose_accel(options, kernel, initramfs),
        words=f"zdm.do={script} {words}",
        ram_gib=RAM_GIB,
        nodes=2,
        args=("-serial", "stdio", *SLOW, *args),
    )
    announce(f"{script}: {kernel.name}")

    def is_fault(line: str) -> bool:
        return is_splat(line) and not HELD.search(line)

    console = boot_guest(guest, log, robustness.say_result, LIMIT, SILENCE, is_fault)
    return robustness.judge(source, console, log, script)


def run_demotion(options: Options) -> None:
    """Boot base and series; Raises UserError if a check fails."""
    trees = apply_series(options)
    for name in ("base", "series"):
        kernel = build_kernel(options, name, getattr(trees, name), CONFIG)
        image = make_image(options, trees.series)
        if why := boot_demotion(options, trees.series, kernel, image):
            raise UserError(f"{kernel.name}: not all checks passed", why.splitlines())
    say("every byte arrived; the series streams to the lower tier and nowhere else")


if __name__ == "__main__":
    run_stage(run_demotion)
