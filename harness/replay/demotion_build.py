# SPDX-License-Identifier: GPL-2.0
"""The demotion replay program: folio_mc_copy() and the x86 routines behind it.

It is made like the replay program (harness/replay/build.py), from mm/util.o and two objects of
arch/x86/lib/ of each kernel. replay/demotion/shim.c says what is stubbed.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.core.command import run
from harness.core.options import Options
from harness.kernel.toolchain import split_targets
from harness.kernel.tree import Trees
from harness.replay import build
from harness.replay.build import CLANG, REPLAY, Objects

DEMOTION = REPLAY / "demotion"
MAIN = "mm/util"
ROUTINES = ("arch/x86/lib/copy_mc", "arch/x86/lib/copy_mc_64")
IMPORTED = ("demotion_poisoned",)
# What the kernel calls to stream a page, and what it calls instead: the shim counts the calls.
STREAM = ("copy_mc_page_nt", "demotion_stream")
# Jump labels are as in a distribution's kernel: a static key that is off costs a NOP.
DEFAULT = replace(
    build.DEFAULT,
    name="demotion",
    lines=(
        "CONFIG_JUMP_LABEL=y",
        "CONFIG_NUMA_MIGRATION=y",
        "CONFIG_X86_MCE=y",
        "CONFIG_MEMORY_FAILURE=y",
    ),
)
CONFIGS = {
    "default": DEFAULT,
    "debug": replace(
        DEFAULT,
        name="demotion-debug",
        lines=(*DEFAULT.lines, "CONFIG_DEBUG_VM=y", "CONFIG_DEBUG_VM_PGFLAGS=y"),
    ),
    "clang": replace(DEFAULT, name="demotion-clang", tools=CLANG),
}


def build_objects(options: Options, where: Path, name: str) -> Objects:
    """Return the kernel in where in configuration NAME, its objects and the shim up to date."""
    kernel = build.place_objects(options, where, CONFIGS[name])
    kernel.prepare("mm/mm_init.o", f"{MAIN}.o")
    for jobs, some in split_targets(f"{routine}.o" for routine in ROUTINES):
        kernel.make(*some, jobs=jobs)
    kernel.compile(DEMOTION / "shim.c", kernel.out / "shim.o", f"-I{where / 'mm'}", f"-I{DEMOTION}")
    return kernel


def build_pair(options: Options, trees: Trees, name: str) -> tuple[Objects, Objects]:
    """Return both kernels, prepared."""
    return build_objects(options, trees.base, name), build_objects(options, trees.series, name)


def link_side(
    kernel: Objects, name: str, as_name: str = "", changed: dict[str, Path] | None = None
) -> Path:
    """Link one kernel, with some objects changed; see Objects."""
    parts = {part: kernel.out / f"{part}.o" for part in (MAIN, *ROUTINES)} | (changed or {})
    made = kernel.out / f"{name}.util.o"
    run([kernel.tool("objcopy"), f"--redefine-sym={'='.join(STREAM)}", parts.pop(MAIN), made], name)
    return kernel.link_side(name, made, as_name, more=list(parts.values()), imported=IMPORTED)


def link_program(kernel: Objects, sides: Sequence[Path], made: Path) -> Path:
    """Link the kernels with the user-space half."""
    return build.link_program(kernel, sides, made, DEMOTION, IMPORTED)


def build_mutant(
    before: Objects, after: Objects, name: str, file: str, edits: Sequence[Sequence[str]]
) -> Path:
    """Return a demotion replay program whose series has edits in FILE, such as mm/util.c."""
    changed = {build.find_part(file): build.mutate_object(after, name, edits, file)}
    sides = [link_side(before, "base"), link_side(after, "mutant", "series", changed)]
    return link_program(after, sides, after.out / name)


def build_demotion(options: Options, trees: Trees, name: str = "default") -> Path:
    """Return the demotion replay program of the trees in one configuration."""
    before, after = build_pair(options, trees, name)
    sides = [link_side(before, "base"), link_side(after, "series")]
    return link_program(after, sides, after.out / "demotion")
