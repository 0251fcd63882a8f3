# SPDX-License-Identifier: GPL-2.0
"""A program: objects of both kernels, such as mm/mm_init.o, in one static executable.

Each kernel's objects are linked with a shim, replay/shim and replay/NAME/shim, which that kernel's
own command line compiles. All symbols of a kernel get a prefix, so that none meets one of the C
library. Only the one that describes the kernel stays visible. A symbol that nobody provides is
given a page of its own that cannot be accessed: what the code does not need costs nothing, and what
it does need is named when it runs.
"""

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.core import ROOT, Options, UserError, announce, git, run
from harness.core.architectures import X86_64
from harness.core.cache import digest, drop_others
from harness.kernel.config import KernelConfig, configure
from harness.kernel.configs import ALONE, CONFIGS
from harness.kernel.toolchain import compile_like_mm_init, need_tools
from harness.kernel.tree import Trees

REPLAY = ROOT / "replay"
EXPORTED = "replay_side"
MAIN = "mm/mm_init"
HANDOVER = "kernel/liveupdate/kexec_handover"
# How the host's half is compiled and linked.
FLAGS = (
    # As in the kernel, a struct can have the members of another one.
    *("-std=gnu11", "-fms-extensions"),
    *("-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"),
    *("-static", "-no-pie", "-fno-pie", "-Wl,--no-warn-rwx-segments"),
)
# Gives each symbol a page of its own, and lists their names for kernels.c.
GENERATED = """\
.section .unexpected, "aw", %nobits
.balign 4096
.globl unexpected_start, unexpected_end, unexpected_names, program_facts
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
program_facts: .string {facts}
.section .note.GNU-stack, "", %progbits
"""
# The linker gives the start and the end of a section whose name C can spell.
RENAMED = [
    f"--rename-section=.{section}={section.replace('.', '')}"
    for section in ("altinstructions", "return_sites", "indirect_thunks", "data..once")
]
# Of no use in user space, or in the way of the linker.
DROPPED = (".modinfo", ".discard*", ".note*", ".initcall*", ".eh_frame")


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
        more = " and more" * bool(targets[1:])
        what = f"make {targets[0]}{more} ({self.config.name}, {self.tree.name})"
        args = ("-s", *self.config.args, *targets)
        self.config.tools.make(self.options, self.tree, self.out, what, *args)
        self.made.update(targets)

    def tool(self, name: str) -> str:
        return self.config.tools.architecture.cross + name

    def list_undefined(self, objects: Iterable[Path]) -> set[str]:
        symbols = run([self.tool("nm"), "-u", *objects], "nm").splitlines()
        return {line.split()[-1] for line in symbols if line.startswith(" ")}

    def copy_object(self, source: Path, made: Path, *words: str) -> None:
        """Make an object of another one, or of itself, by objcopy with words."""
        run([self.tool("objcopy"), *words, source, made], f"objcopy {made.name}")


def mutate_object(after: Objects, name: str, mutation: Mapping[str, Any]) -> Path:
    """Return an object of the series after a mutation, such as those of replay/*/faults.toml.

    "edits" are pairs of an old and a new text in "file", else in mm/mm_init.c: a C or an assembly
    file, or the header of a C file. Raises UserError if an old text does not occur exactly once.
    """
    file = mutation.get("file", f"{MAIN}.c")
    original = after.tree / file
    text = original.read_text()
    for old, new in mutation["edits"]:
        if text.count(old) != 1:
            raise UserError(
                f"mutation {name}: {text.count(old)} times in {file}, not once: {old!r}: "
                "write what the file has now into replay/*/faults.toml"
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
    """What is linked: objects of a kernel, and the folder replay/NAME, with a shim and a host half.

    words are objcopy's for an object: another name for a function that the shim stands in for, or
    a static one that it calls. forced are flags for a part that the configuration may lack.
    imported are the symbols that the host's half defines. With fallback, a third kernel is the
    series without the architecture's memcpy_nt().
    """

    name: str
    configs: tuple[str, ...]
    parts: tuple[str, ...]
    imported: tuple[str, ...]
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    forced: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fallback: bool = False

    @property
    def folder(self) -> Path:
        return REPLAY / self.name

    def list_parts(self, config: KernelConfig) -> tuple[str, ...]:
        return self.parts[:1] if config.name in ALONE else self.parts

    def list_shim(self, kernel: Objects) -> dict[Path, Path]:
        """Return the shim's objects, and the C file of each: of alone/ or of whole/, and others."""
        left_out = "whole" if kernel.config.name in ALONE else "alone"
        files = [*(REPLAY / "shim").glob("*.c"), *(self.folder / "shim").rglob("*.c")]
        return {
            kernel.out / f"{self.name}-shim-{file.stem}.o": file
            for file in sorted(files)
            if file.parent.name != left_out
        }

    def check(self, options: Options) -> None:
        """Refuse CONFIG= that is not raced; Raises UserError where a tool or package is missing."""
        # On an emulator, tests compare but nobody races.
        names = [name for name in self.configs if not CONFIGS[name].tools.architecture.runner]
        if options.config not in names:
            raise UserError(f"CONFIG={options.config} must be one of {', '.join(names)}")
        need_tools(CONFIGS[options.config].tools.missing())
        CONFIGS[options.config].read_all(options)

    def place(self, options: Options, where: Path, name: str = "") -> Objects:
        """Return the kernel in where in configuration NAME, or CONFIG=; nothing is built yet."""
        config = CONFIGS[name or options.config]
        key = digest(config.read_all(options), config.tools.version(), str(where))
        out = options.build / "replay" / f"{config.name}-{where.name}-{key}"
        return Objects(where, config, out, options)

    def build_objects(self, options: Options, where: Path, name: str = "") -> Objects:
        """Return the kernel in where in configuration NAME, its objects and the shim up to date."""
        kernel = self.place(options, where, name)
        drop_others(kernel.out)
        announce(f"compiling the objects of {self.name}: {where.name} ({kernel.config.name})")
        # Each time, as a change of the tree can bring new options; .config stays if it is the same.
        configure(options, kernel.config, where, kernel.out, f"{self.name} ({kernel.config.name})")
        # The shim is compiled as mm/mm_init.c was.
        parts = dict.fromkeys((MAIN, *self.list_parts(kernel.config)))
        kernel.make(*(f"{part}.o" for part in parts if part not in self.forced))
        for part in parts.keys() & self.forced.keys():
            output = kernel.out / f"{part}.o"
            output.parent.mkdir(parents=True, exist_ok=True)
            compile_like_mm_init(kernel.out, where / f"{part}.c", output, *self.forced[part])
        with ThreadPoolExecutor(options.jobs) as pool:
            compilations = [
                pool.submit(compile_like_mm_init, kernel.out, source, output, f"-I{where / 'mm'}")
                for output, source in self.list_shim(kernel).items()
            ]
        for compilation in compilations:
            compilation.result()
        return kernel

    def build_pair(self, options: Options, trees: Trees, name: str = "") -> tuple[Objects, Objects]:
        """Build both at once, with half of the jobs each: much of it has one process at a time."""
        # Debian's is fetched once.
        CONFIGS[name or options.config].read_all(options)
        half = replace(options, jobs=max(1, options.jobs // 2))
        with ThreadPoolExecutor() as pool:
            before, after = pool.map(
                lambda where: self.build_objects(half, where, name), (trees.base, trees.series)
            )
        return before, after

    def link_side(
        self,
        kernel: Objects,
        name: str,
        folder: Path | None = None,
        changed: Mapping[str, Path] | None = None,
    ) -> Path:
        """Link the shim and the parts of a kernel, some of them changed, to an object in folder.

        Of its symbols only NAME_side is visible, and what is imported.
        """
        side, name = name, f"{self.name}-{name}"
        folder = folder or kernel.out
        objects = [*self.list_shim(kernel)]
        for part in self.list_parts(kernel.config):
            source = (changed or {}).get(part, kernel.out / f"{part}.o")
            if words := self.words.get(part):
                called = folder / f"{name}.{Path(part).name}.o"
                kernel.copy_object(source, called, *words)
                source = called
            objects.append(source)
        library = kernel.config.tools.architecture.library
        # A routine may need another one.
        while routines := {
            kernel.out / library[one] for one in kernel.list_undefined(objects) & library.keys()
        } - {*objects}:
            kernel.make(*(str(one.relative_to(kernel.out)) for one in routines))
            objects += sorted(routines)
        whole, linked = (folder / f"{name}{kind}.o" for kind in (".whole", ""))
        run([kernel.tool("ld"), "-r", "-o", whole, *objects], f"linking {name}")
        dropped = [f"--remove-section={section}" for section in DROPPED]
        kernel.copy_object(whole, linked, f"--keep-global-symbol={EXPORTED}", *RENAMED, *dropped)
        kernel.copy_object(linked, linked, "--prefix-symbols=k_")
        imported = [f"--redefine-sym=k_{symbol}={symbol}" for symbol in self.imported]
        kernel.copy_object(linked, linked, f"--redefine-sym=k_{EXPORTED}={side}_side", *imported)
        return linked

    def build_mutant(
        self, before: Objects, after: Objects, name: str, mutation: Mapping[str, Any]
    ) -> Path:
        """Return a program whose series has a mutation; see mutate_object().

        build() has linked the base, and compiled the host's half.
        """
        # A change of a header is seen in the object of its C file.
        part = mutation.get("file", f"{MAIN}.c").rpartition(".")[0]
        source = mutate_object(after, name, mutation)
        folder = source.parent
        mutant = self.link_side(after, "series", folder, {part: source})
        sides = [before.out / f"{self.name}-base.o", mutant]
        program = self.link_program(after, sides, folder / self.name)
        for each in folder.glob("*.o"):
            each.unlink()
        return program

    def build(
        self,
        options: Options,
        trees: Trees,
        name: str = "",
        peer: Path | None = None,
        pair: tuple[Objects, Objects] | None = None,
    ) -> Path:
        """Return the program of the trees in configuration NAME, built anew where needed.

        pair are the objects of both, if they are built. Raises UserError when a tree does not
        compile.
        """
        before, after = pair or self.build_pair(options, trees, name)
        self.compile_host(after)
        sides = [self.link_side(before, "base"), self.link_side(after, "series")]
        if self.fallback and after.config.tools.architecture is X86_64:
            flags = ["-include", str(REPLAY / "fallback.h")]
            made = after.out / "fallback_mm_init.o"
            compile_like_mm_init(after.out, trees.series / f"{MAIN}.c", made, *flags)
            sides.append(self.link_side(after, "fallback", changed={MAIN: made}))
        facts = describe_program(options, trees, after)
        if not peer:
            return self.link_program(after, sides, after.out / self.name, facts)
        try:
            sides.append(self.link_side(self.build_objects(options, peer, name), "peer"))
        except UserError as error:
            raise UserError(
                f"PEER={options.peer} cannot be built: {error}: correct it, or leave PEER out"
            ) from None
        facts["peer"] = git(peer, "rev-parse", "HEAD^{tree}")
        return self.link_program(after, sides, after.out / f"{self.name}-peer", facts)

    def compile_host(self, kernel: Objects) -> None:
        """Compile what runs the kernels, to an object beside the kernel's, for link_program()."""
        sources = sorted([*REPLAY.glob("*.c"), *self.folder.glob("*.c")])
        words = (kernel.tool("gcc"), *FLAGS, "-r", "-o", kernel.out / f"{self.name}-host.o")
        run([*words, *sources], "compiling the host's half")

    def link_program(
        self,
        kernel: Objects,
        sides: Sequence[Path],
        made: Path,
        facts: Mapping[str, str] | None = None,
    ) -> Path:
        """Link the kernels with the host's half; made appears only when it is whole.

        compile_host() has made that half.
        """
        symbols = sorted(kernel.list_undefined(sides) - {*self.imported})
        names = ", ".join(symbol.removeprefix("k_") for symbol in symbols)
        assembly, part = (made.with_name(f"{made.name}{kind}") for kind in (".S", ".tmp"))
        told = json.dumps(facts or {}).strip("{}")
        text = GENERATED.format(
            symbols=", ".join(symbols), names=names, facts=json.dumps(told + ", " * bool(told))
        )
        assembly.write_text(text)
        host = kernel.out / f"{self.name}-host.o"
        words = (kernel.tool("gcc"), *FLAGS, "-s", "-o", part, host, assembly)
        run([*words, *sides], "linking the program")
        return part.rename(made)


def describe_program(options: Options, trees: Trees, kernel: Objects) -> dict[str, str]:
    """Return from which sources, by which compiler and in which configuration it is."""
    try:
        commit = git(ROOT, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
    except UserError:
        commit = "unknown: no repository"
    return {
        "base": git(trees.base, "rev-parse", "HEAD^{tree}"),
        "series": git(trees.series, "rev-parse", "HEAD^{tree}"),
        "compiler": kernel.config.tools.version(),
        "config": f"{options.config}, {digest((kernel.out / '.config').read_bytes())}",
        "commit": commit,
    }


MEMMAP = Program(
    "memmap",
    (*CONFIGS,),
    (
        MAIN,
        *("mm/page_alloc", "mm/memblock", "mm/vmstat", "mm/memory_hotplug", "mm/page_isolation"),
        *("mm/sparse-vmemmap", "arch/x86/mm/init_64", "kernel/padata", "mm/cma", HANDOVER),
    ),
    (
        *("replay_event", "replay_pgmap", "replay_memory", "replay_queue", "replay_cancel"),
        *("replay_half", "replay_unexpected"),
    ),
    {
        MAIN: (
            # What the kernel calls to split a range among threads, and what it calls instead.
            "--redefine-sym=padata_do_multithreaded=replay_do_multithreaded",
            # It counts the pageblocks that are looked at for holes.
            "--redefine-sym=__pageblock_pfn_to_page=replay_pageblock_pfn_to_page",
            # Its address is taken, so the compiler keeps its calling convention.
            "--globalize-symbol=deferred_init_memmap",
        ),
        # It looks at what each call frees.
        "mm/sparse-vmemmap": ("--redefine-sym=vmemmap_free=replay_vmemmap_free",),
        # What it allocated for a section is looked at.
        "mm/memory_hotplug": ("--redefine-sym=sparse_add_section=replay_add_section",),
        "mm/vmstat": ("--globalize-symbol=nr_memmap_pages",),
        "mm/cma": (
            "--globalize-symbol=cma_init_reserved_areas",
            *(f"--redefine-sym=bitmap_{one}=replay_bitmap_{one}" for one in ("zalloc", "free")),
        ),
        HANDOVER: ("--globalize-symbol=kho_preserved_memory_reserve",),
    },
    # Debian has no kexec handover. Only what reserves preserved pages is called.
    {HANDOVER: tuple(f"-DCONFIG_KEXEC{one}=1" for one in ("_CORE", "_FILE", "_HANDOVER"))},
    fallback=True,
)
COPY = Program(
    "copy",
    ("debian", "default", "debug", "clang"),
    # Program.link_side() adds that of memcpy().
    ("mm/migrate", "mm/util", "arch/x86/lib/copy_mc", "arch/x86/lib/copy_mc_64"),
    ("replay_tell",),
    # What the kernel calls to stream a folio, and what it calls instead: the shim counts the bytes.
    {"mm/migrate": ("--redefine-sym=copy_mc_nt=replay_stream",)},
)
