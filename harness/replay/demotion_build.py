# SPDX-License-Identifier: GPL-2.0
"""The demotion replay program: folio_mc_copy() and the x86 routines behind it.

It is made like the replay program (harness/replay/build.py), from mm/util.o and two objects of
arch/x86/lib/ of each kernel. replay/demotion/shim.c says what is stubbed.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.core.cache import digest
from harness.core.options import Options
from harness.kernel.toolchain import split_targets
from harness.kernel.tree import Trees
from harness.replay import build
from harness.replay.build import REPLAY, Objects

DEMOTION = REPLAY / "demotion"
MAIN = "mm/util.o"
ROUTINES = ("arch/x86/lib/copy_mc.o", "arch/x86/lib/copy_mc_64.o")
SHARED = ("window", "timing", "crash", "machine", "kernels")
IMPORTED = ("demotion_poisoned",)
# Jump labels are as in a distribution's kernel: a static key that is off costs a NOP.
CONFIG = replace(
    build.DEFAULT,
    name="demotion",
    lines=(
        "CONFIG_JUMP_LABEL=y",
        "CONFIG_NUMA_MIGRATION=y",
        "CONFIG_X86_MCE=y",
        "CONFIG_MEMORY_FAILURE=y",
    ),
)


def build_objects(options: Options, where: Path) -> Objects:
    """Return the kernel in where, its objects and the shim up to date."""
    key = digest(CONFIG.text(), CONFIG.tools.version(), str(where))
    out = options.build / "replay" / f"{CONFIG.name}-{where.name}-{key}"
    kernel = Objects(where, CONFIG, out, options)
    kernel.prepare("mm/mm_init.o", MAIN)
    for jobs, some in split_targets(ROUTINES):
        kernel.make(*some, jobs=jobs)
    kernel.compile(DEMOTION / "shim.c", out / "shim.o", f"-I{where / 'mm'}", f"-I{DEMOTION}")
    return kernel


def link_side(kernel: Objects, name: str, as_name: str = "") -> Path:
    """Link one kernel; see Objects."""
    more = [kernel.out / routine for routine in ROUTINES]
    return kernel.link_side(name, kernel.out / MAIN, as_name, more=more, imported=IMPORTED)


def link_program(kernel: Objects, sides: Sequence[Path], made: Path) -> Path:
    """Link the kernels with the user-space half."""
    sources = [
        *(REPLAY / f"{name}.c" for name in SHARED),
        *sorted(source for source in DEMOTION.glob("*.c") if source.name != "shim.c"),
    ]
    return build.link_program(kernel, sides, made, sources, IMPORTED)


def build_demotion(options: Options, trees: Trees) -> Path:
    """Return the demotion replay program of the trees, built anew where needed."""
    before, after = build_objects(options, trees.base), build_objects(options, trees.series)
    sides = [link_side(before, "base"), link_side(after, "series")]
    return link_program(after, sides, after.out / "demotion")
