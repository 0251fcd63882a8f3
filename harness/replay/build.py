# SPDX-License-Identifier: GPL-2.0
"""A replay program: objects of both kernels, such as mm/mm_init.o, in one static executable.

Each kernel's objects are linked with a shim, replay/NAME/shim.c, which that kernel's own command
line compiles. All symbols of a kernel get a prefix, so that none meets one of the C library. Only
the one that describes the kernel stays visible. A symbol that nobody provides is given a page of
its own that cannot be accessed: what the code does not need costs nothing, and what it does need
is named when it runs.
"""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.core import ROOT, Options, UserError, announce, run
from harness.core.architectures import ARM64, LLVM, X86_64
from harness.core.cache import digest, drop_others
from harness.kernel.config import (
    MEASURED,
    WITH_KMSAN,
    KernelConfig,
    configure,
    turn_off,
    turn_on,
)
from harness.kernel.toolchain import Toolchain, compile_like_mm_init
from harness.kernel.tree import Trees

REPLAY = ROOT / "replay"
EXPORTED = "replay_side"
MAIN = "mm/mm_init.c"
# How the user-space half is compiled and linked.
FLAGS = (
    # As in the kernel, a struct can have the members of another one.
    *("-std=gnu11", "-fms-extensions"),
    *("-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"),
    *("-static", "-no-pie", "-fno-pie", "-Wl,--no-warn-rwx-segments"),
)
# Gives each symbol a page of its own, and lists their names for crash.c.
UNEXPECTED = """\
.section .unexpected, "aw", %nobits
.balign 4096
.globl unexpected_start, unexpected_end, unexpected_names
unexpected_start:
.irp symbol, {symbols}
\t.globl \\symbol
\t\\symbol: .skip 4096
.endr
unexpected_end:
.skip 4096
.section .rodata.unexpected, "a"
.balign 8
unexpected_names:
.irp name, {names}
\t.pushsection .rodata.names, "a"
\t1: .string "\\name"
\t.popsection
\t.quad 1b
.endr
.section .note.GNU-stack, "", %progbits
"""
# The linker gives the start and the end of a section whose name C can spell.
RENAMED = [
    f"--rename-section=.{section}={section.replace('.', '')}"
    for section in ("altinstructions", "return_sites", "data..once")
]
# Of no use in user space, or in the way of the linker.
DROPPED = (".modinfo", ".discard*", ".note*", ".initcall*", ".eh_frame")


DEFAULT = replace(MEASURED, name="default")
CLANG = Toolchain(llvm=LLVM)
HUGETLB = "HUGETLBFS HUGETLB_PAGE HUGETLB_PAGE_OPTIMIZE_VMEMMAP"
DEBUG = turn_on("DEBUG_VM DEBUG_VM_PGFLAGS")
TRACED = (*DEFAULT.fragments, "tracers")
ON_ARM64 = ("common", "zone_device", "fortify")


# What Debian's users run, by the compiler of this machine; every program has it, and shares the
# objects. The code is as after boot on a CPU without Retbleed and the like: plain returns and
# indirect calls, a NOP for ftrace at each function's start. Else each call, and the base has more
# of them, would cost a jump more. objtool makes NOPs of static keys, here object by object.
AS_BOOTED = "-mnop-mcount -mfunction-return=keep -mindirect-branch=keep"
DEBIAN = KernelConfig(
    Options.config,
    lines=turn_on("DEBUG_INFO_NONE"),
    args=(f"KCFLAGS={AS_BOOTED}", "delay-objtool=", "objtool-args=--hacks=jump_label"),
    debian=True,
)


def vary(name: str, *lines: str, **more: Any) -> KernelConfig:
    """Return the default configuration with these lines, and more of its fields, changed."""
    return replace(DEFAULT, name=name, lines=lines, **more)


CONFIGS = {
    config.name: config
    for config in (
        DEBIAN,
        DEFAULT,
        # compound_info holds the head's address, not a mask.
        vary("pointer", *turn_off(HUGETLB)),
        # Two more words, so not a power of two. Without KMSAN itself the code can run here.
        vary("page80", *WITH_KMSAN, tools=CLANG, args=("KMSAN_SANITIZE=n",)),
        # Also without ZONE_DMA, so that ZONE_DEVICE has another number.
        vary("nomemcg", *turn_off("MEMCG"), *turn_on("EXPERT"), *turn_off("ZONE_DMA")),
        vary("debug", *DEBUG),
        vary("trace", *turn_on("DEBUG_PAGE_REF"), fragments=TRACED),
        vary("clang", tools=CLANG),
        KernelConfig("arm64", ON_ARM64, turn_on("COMPACTION"), Toolchain(ARM64)),
    )
}


@dataclass(frozen=True)
class Objects:
    """The objects of one tree in one configuration. made are the targets that are up to date."""

    tree: Path
    config: KernelConfig
    out: Path
    options: Options
    made: set[str] = field(default_factory=set, compare=False)

    def make(self, *names: str) -> None:
        targets = [name for name in names if name not in self.made]
        if not targets:
            return
        what = f"make {' '.join(targets)} ({self.config.name}, {self.tree.name})"
        args = ("-s", *self.config.args, *targets)
        self.config.tools.make(self.options, self.tree, self.out, what, *args)
        self.made.update(targets)

    def tool(self, name: str) -> str:
        return self.config.tools.architecture.cross + name

    def list_undefined(self, objects: Iterable[Path]) -> set[str]:
        told = run([self.tool("nm"), "-u", *objects], "nm").splitlines()
        return {line.split()[-1] for line in told if line.startswith(" ")}

    def copy_object(self, source: Path, made: Path, *words: str) -> None:
        """Make an object of another one, or of itself, by objcopy with words."""
        run([self.tool("objcopy"), *words, source, made], f"objcopy {made.name}")


def mutate_object(after: Objects, name: str, mutation: Mapping[str, Any]) -> Path:
    """Return an object of the series after a mutation, such as those of replay/*/mutations.toml.

    "edits" are pairs of an old and a new text in "file", else in mm/mm_init.c: a C or an assembly
    file, or the header of a C file. Raises UserError if an old text does not occur exactly once.
    """
    file = mutation.get("file", MAIN)
    original = after.tree / file
    text = original.read_text()
    for old, new in mutation["edits"]:
        if text.count(old) != 1:
            raise UserError(
                f"mutation {name}: {text.count(old)} times in {file}, not once: {old!r}"
            )
        text = text.replace(old, new)
    folder = after.out / "mutations" / name
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / original.name
    source.write_text(text)
    if source.suffix == ".h":
        source = Path(shutil.copy(original.with_suffix(".c"), folder))
    flags = ["-D__ASSEMBLY__"] * (source.suffix == ".S")
    flags.append(f"-I{original.parent}")
    return compile_like_mm_init(after.out, source, source.with_suffix(".o"), *flags)


# Programs are compared by identity, so that they can be keys.
@dataclass(frozen=True, eq=False)
class Program:
    """What is replayed: objects of a kernel, and a folder with their shim and a user-space half.

    The first of parts has the code that is called, and optional has parts that are linked only
    where it needs a symbol. words are objcopy's for the first part: another name for a function
    that the shim stands in for, or a static one that it calls. With fallback, it calls memcpy_nt().
    """

    name: str
    folder: Path
    configs: Mapping[str, KernelConfig]
    parts: tuple[str, ...]
    imported: tuple[str, ...]
    optional: Mapping[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    fallback: bool = False

    def place(self, options: Options, where: Path, name: str = "") -> Objects:
        """Return the kernel in where in configuration NAME, or CONFIG=; nothing is built yet."""
        config = self.configs[name or options.config]
        key = digest(config.read_all(options), config.tools.version(), str(where))
        out = options.build / "replay" / f"{config.name}-{where.name}-{key}"
        return Objects(where, config, out, options)

    def build_objects(self, options: Options, where: Path, name: str = "") -> Objects:
        """Return the kernel in where in configuration NAME, its objects and the shim up to date."""
        kernel = self.place(options, where, name)
        drop_others(kernel.out)
        announce(f"replay: mm/mm_init.o of {where.name} ({kernel.config.name})")
        what = f"the replay ({kernel.config.name})"
        # Each time, as a change of the tree can bring new options; .config stays if it is the same.
        configure(options, kernel.config, where, kernel.out, what)
        # The shim is compiled as mm/mm_init.c was.
        kernel.make("mm/mm_init.o")
        kernel.make(*(f"{part}.o" for part in self.parts))
        flags = [f"-I{folder}" for folder in (where / "mm", self.folder)]
        compile_like_mm_init(
            kernel.out, self.folder / "shim.c", kernel.out / f"{self.name}-shim.o", *flags
        )
        return kernel

    def build_pair(self, options: Options, trees: Trees, name: str = "") -> tuple[Objects, Objects]:
        return (
            self.build_objects(options, trees.base, name),
            self.build_objects(options, trees.series, name),
        )

    def link_side(
        self,
        kernel: Objects,
        name: str,
        as_name: str = "",
        changed: Mapping[str, Path] | None = None,
    ) -> Path:
        """Link the shim and the parts of a kernel, some of them changed, to NAME.o.

        Of its symbols only AS_NAME_side, or else NAME_side, is visible, and what is imported.
        """
        parts = {part: kernel.out / f"{part}.o" for part in self.parts} | dict(changed or {})
        first = parts.pop(self.parts[0])
        # On arm64 the shim has no threads.
        if kernel.config.tools.architecture is X86_64:
            needed = kernel.list_undefined([first]) & {*self.optional}
            more = sorted({self.optional[one] for one in needed} - parts.keys())
            kernel.make(*(f"{part}.o" for part in more))
            parts |= {part: kernel.out / f"{part}.o" for part in more}
        called, whole, made = (kernel.out / f"{name}{kind}.o" for kind in (".first", ".whole", ""))
        kernel.copy_object(first, called, *self.words)
        objects = [kernel.out / f"{self.name}-shim.o", called, *parts.values()]
        library = kernel.config.tools.architecture.library
        # A routine may need another one.
        while routines := {
            kernel.out / library[one] for one in kernel.list_undefined(objects) & library.keys()
        } - {*objects}:
            kernel.make(*(str(one.relative_to(kernel.out)) for one in routines))
            objects += sorted(routines)
        run([kernel.tool("ld"), "-r", "-o", whole, *objects], f"linking {name}")
        dropped = [f"--remove-section={section}" for section in DROPPED]
        kernel.copy_object(whole, made, f"--keep-global-symbol={EXPORTED}", *RENAMED, *dropped)
        kernel.copy_object(made, made, "--prefix-symbols=k_")
        imported = [f"--redefine-sym=k_{symbol}={symbol}" for symbol in self.imported]
        side = f"--redefine-sym=k_{EXPORTED}={as_name or name}_side"
        kernel.copy_object(made, made, side, *imported)
        return made

    def build_mutant(
        self, before: Objects, after: Objects, name: str, mutation: Mapping[str, Any]
    ) -> Path:
        """Return a program whose series has a mutation; see mutate_object()."""
        # A change of a header is seen in the object of its C file.
        part = mutation.get("file", MAIN).rpartition(".")[0]
        changed = {part: mutate_object(after, name, mutation)}
        mutant = self.link_side(after, "mutant", "series", changed)
        sides = [self.link_side(before, "base"), mutant]
        return self.link_program(after, sides, after.out / name)

    def build(
        self, options: Options, trees: Trees, name: str = "", peer: Path | None = None
    ) -> Path:
        """Return the program of the trees in configuration NAME, built anew where needed.

        With fallback, and where the series has a memcpy_nt() of the architecture, a third kernel is
        the series with an mm/mm_init.o that is compiled without it. Raises UserError when a tree
        does not compile.
        """
        before, after = self.build_pair(options, trees, name)
        sides = [self.link_side(before, "base"), self.link_side(after, "series")]
        if self.fallback and after.config.tools.architecture is X86_64:
            flags = ["-include", str(REPLAY / "fallback.h")]
            made = after.out / "fallback_mm_init.o"
            compile_like_mm_init(after.out, trees.series / MAIN, made, *flags)
            sides.append(self.link_side(after, "fallback", changed={self.parts[0]: made}))
        if not peer:
            return self.link_program(after, sides, after.out / self.name)
        try:
            sides.append(self.link_side(self.build_objects(options, peer, name), "peer"))
        except UserError as error:
            raise UserError(
                f"PEER={options.peer} cannot be built: {error}: correct it, or leave PEER out"
            ) from None
        return self.link_program(after, sides, after.out / f"{self.name}-peer")

    def link_program(self, kernel: Objects, sides: Sequence[Path], made: Path) -> Path:
        """Link the kernels with the user-space half; made appears only when it is whole."""
        symbols = sorted(kernel.list_undefined(sides) - {*self.imported})
        names = ", ".join(symbol.removeprefix("k_") for symbol in symbols)
        assembly, part = made.with_suffix(".S"), made.with_suffix(".tmp")
        assembly.write_text(UNEXPECTED.format(symbols=", ".join(symbols), names=names))
        own = {*self.folder.glob("*.c")} - {self.folder / "shim.c"}
        sources = sorted([*REPLAY.glob("*.c"), *own])
        gcc = [kernel.tool("gcc"), *FLAGS]
        run([*gcc, "-o", part, *sources, assembly, *sides], "linking the replay program")
        return part.rename(made)
