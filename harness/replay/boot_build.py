# SPDX-License-Identifier: GPL-2.0
"""The boot replay program: memmap initialisation with the page allocator behind it.

It is made like the replay program (harness/replay/build.py), from four objects of each kernel's
mm/: mm_init, page_alloc, memblock and vmstat. replay/boot/shim.c says what is stubbed.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.core.command import run
from harness.core.options import Options
from harness.kernel.tree import Trees
from harness.replay import build
from harness.replay.build import CLANG, REPLAY, Objects

BOOT = REPLAY / "boot"
PARTS = ("page_alloc", "memblock", "vmstat")
# A static function whose address is taken, so the compiler keeps its calling convention.
ENTRY = "deferred_init_memmap_job"
IMPORTED = ("boot_free", "boot_ref_set", "boot_warn")

# Jump labels are as in a distribution's kernel: a static key that is off costs a NOP.
DEFAULT = replace(build.DEFAULT, name="boot-default", lines=("CONFIG_JUMP_LABEL=y",))
# Static keys are variables, so that check_pages= can be switched on.
KEYS = replace(DEFAULT, name="boot-keys", lines=())
CONFIGS = {
    config.name.removeprefix("boot-"): config
    for config in (
        DEFAULT,
        KEYS,
        replace(
            KEYS,
            name="boot-trace",
            fragments=(*DEFAULT.fragments, "tracers"),
            lines=("CONFIG_DEBUG_PAGE_REF=y",),
        ),
        replace(KEYS, name="boot-debug", lines=("CONFIG_DEBUG_VM=y", "CONFIG_DEBUG_VM_PGFLAGS=y")),
        # Pageblocks as large as the blocks that are freed.
        replace(
            KEYS,
            name="boot-pageblock",
            fragments=("common", "fortify"),
            lines=(
                "CONFIG_NUMA=y",
                "CONFIG_MEMORY_HOTPLUG=y",
                "CONFIG_DEFERRED_STRUCT_PAGE_INIT=y",
            ),
        ),
        replace(
            KEYS,
            name="boot-nomemcg",
            lines=(
                "# CONFIG_MEMCG is not set",
                "CONFIG_EXPERT=y",
                "CONFIG_VM_EVENT_COUNTERS=y",
                "# CONFIG_ZONE_DMA is not set",
            ),
        ),
        replace(KEYS, name="boot-clang", tools=CLANG),
    )
}


def build_objects(options: Options, where: Path, name: str) -> Objects:
    """Return the kernel in where in configuration NAME, its objects and the shim up to date."""
    kernel = build.place_objects(options, where, CONFIGS[name])
    kernel.prepare("mm/mm_init.o", *(f"mm/{part}.o" for part in PARTS))
    kernel.compile(BOOT / "shim.c", kernel.out / "shim.o", f"-I{where / 'mm'}", f"-I{BOOT}")
    return kernel


def build_pair(options: Options, trees: Trees, name: str) -> tuple[Objects, Objects]:
    """Return both kernels, prepared."""
    return build_objects(options, trees.base, name), build_objects(options, trees.series, name)


def link_side(
    kernel: Objects, name: str, as_name: str = "", changed: dict[str, Path] | None = None
) -> Path:
    """Link one kernel, with some objects changed; see Objects."""
    parts = {part: kernel.out / f"mm/{part}.o" for part in ("mm_init", *PARTS)} | (changed or {})
    mm_init = kernel.out / f"{name}.mm_init.o"
    run(
        [kernel.tool("objcopy"), f"--globalize-symbol={ENTRY}", parts.pop("mm_init"), mm_init],
        f"objcopy {name}",
    )
    return kernel.link_side(name, mm_init, as_name, more=list(parts.values()), imported=IMPORTED)


def link_program(kernel: Objects, sides: Sequence[Path], made: Path) -> Path:
    """Link the kernels with the user-space half."""
    return build.link_program(kernel, sides, made, BOOT, IMPORTED)


def build_mutant(
    before: Objects, after: Objects, name: str, file: str, edits: Sequence[Sequence[str]]
) -> Path:
    """Return a boot replay program whose series has edits in FILE, such as mm/page_alloc.c."""
    part = build.find_part(file).removeprefix("mm/")
    changed = {part: build.mutate_object(after, name, edits, file)}
    sides = [link_side(before, "base"), link_side(after, "mutant", "series", changed)]
    return link_program(after, sides, after.out / name)


def build_boot(options: Options, trees: Trees, name: str = "default") -> Path:
    """Return the boot replay program of the trees in one configuration, built anew where needed.

    A third kernel, "fallback", is the series without the architecture's memcpy_nt().
    """
    before, after = build_pair(options, trees, name)
    fallback = after.compile(
        trees.series / "mm/mm_init.c",
        after.out / "fallback_mm_init.o",
        "-include",
        str(REPLAY / "fallback.h"),
    )
    sides = [
        link_side(before, "base"),
        link_side(after, "series"),
        link_side(after, "fallback", changed={"mm_init": fallback}),
    ]
    return link_program(after, sides, after.out / "boot")
