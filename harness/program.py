# SPDX-License-Identifier: GPL-2.0
"""The replay program: mm/mm_init.o of both kernels in one static executable.

Each kernel's object is linked with replay/shim.c, compiled by that kernel's own
command line, all its symbols get a prefix so that none meets one of the C
library, and only the one that describes it stays visible. A symbol that nobody
provides is given a page of its own that cannot be accessed: what the code does
not need costs nothing, and what it does need is named when it runs.
"""

import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.kernels import FRAGMENT, configure
from harness.options import Options
from harness.process import ROOT, Fault, digest, run, step
from harness.toolchain import Toolchain
from harness.tree import Tree

REPLAY = ROOT / "replay"
EXPORTED = "replay_side"
IMPORTED = ("replay_event", "replay_pgmap")
# The kernel's own routines that mm_init.o may call on the path, by architecture.
LIBRARY = {
    "x86_64": {f"mem{name}": f"arch/x86/lib/mem{name}_64.o" for name in ("set", "cpy", "move")},
    "arm64": {"memset": "arch/arm64/lib/memset.o", "memcpy": "arch/arm64/lib/memcpy.o"},
}
# Of no use in user space, or in the way of the linker.
DROPPED = (".modinfo", ".discard*", ".note*", ".initcall*", ".eh_frame")


@dataclass(frozen=True)
class Config:
    """A kernel configuration: lines on top of a fragment on top of allnoconfig, and what builds and runs it."""

    name: str
    lines: tuple[str, ...] = ()
    fragment: Path = FRAGMENT
    tools: Toolchain = Toolchain()
    make: tuple[str, ...] = ()
    runner: tuple[str, ...] = ()

    def missing(self) -> list[str]:
        """Return the programs that it needs and that are not installed."""
        return self.tools.missing() + [program for program in self.runner if not shutil.which(program)]

    def text(self) -> str:
        """Return all of the lines; Kconfig takes the last one of a symbol."""
        return self.fragment.read_text() + "".join(f"{line}\n" for line in self.lines)


DEFAULT = Config("default")
CONFIGS = (
    DEFAULT,
    # compound_info holds the head's address, not a mask.
    Config("pointer", tuple(f"# CONFIG_{symbol} is not set" for symbol in ("HUGETLBFS", "HUGETLB_PAGE", "HUGETLB_PAGE_OPTIMIZE_VMEMMAP"))),
    # Two more words, so no power of two. That KMSAN itself is left out is what keeps the code runnable.
    Config("page80", ("CONFIG_KMSAN=y",), tools=Toolchain(llvm="-19"), make=("KMSAN_SANITIZE=n",)),
    # Also without ZONE_DMA, so that ZONE_DEVICE has another number.
    Config("nomemcg", ("# CONFIG_MEMCG is not set", "CONFIG_EXPERT=y", "# CONFIG_ZONE_DMA is not set")),
    Config("debug", ("CONFIG_DEBUG_VM=y", "CONFIG_DEBUG_VM_PGFLAGS=y")),
    Config("trace", ("CONFIG_FTRACE=y", "CONFIG_ENABLE_DEFAULT_TRACERS=y", "CONFIG_DEBUG_PAGE_REF=y")),
    Config("clang", tools=Toolchain(llvm="-19")),
    Config("arm64", fragment=REPLAY / "arm64.config", tools=Toolchain("arm64", "aarch64-linux-gnu-"), runner=("qemu-aarch64",)),
)


@dataclass(frozen=True)
class Kernel:
    """The objects of one tree in one configuration."""

    tree: Path
    config: Config
    out: Path
    options: Options

    def make(self, *targets: str, jobs: int | None = None) -> None:
        """Run the kernel's make; Raises Fault when it fails."""
        what = f"make {targets[-1]} ({self.config.name}, {self.tree.name})"
        self.config.tools.make(self.options, self.tree, self.out, what, "-s", *self.config.make, *targets, jobs=jobs)

    def tool(self, name: str) -> str:
        """Return the program of binutils that fits the objects."""
        return self.config.tools.cross + name

    def compile_like_mm_init(self, source: Path, made: Path, *flags: str) -> Path:
        """Compile source to made as mm/mm_init.c was compiled, with flags added."""
        text = (self.out / "mm/.mm_init.o.cmd").read_text()
        saved = re.search(r"^savedcmd_mm/mm_init.o := (.*) \S*mm/mm_init\.c (.*)$", text, re.M)
        if not saved:
            raise Fault(f"{self.out}/mm/.mm_init.o.cmd has no command: remove {self.out} and run it again")
        command = f"{saved[1]} {shlex.join(flags)} {source} {saved[2]}".replace("$(pound)", "#").replace("$$", "$")
        command = command.replace("mm/.mm_init.o.d", f"{made}.d").replace("mm/mm_init.o", str(made))
        run(["sh", "-c", command], f"compiling {source.name} ({self.config.name}, {self.tree.name})", cwd=self.out)
        return made

    def undefined(self, obj: Path) -> set[str]:
        """Return the names that an object needs."""
        return {line.split()[-1] for line in run([self.tool("nm"), "-u", obj], f"nm {obj.name}").splitlines()}

    def side(self, name: str, mm_init: Path, as_name: str = "") -> Path:
        """Return mm_init and the shim as the object NAME.o, of which only AS_NAME_side (else NAME_side) is visible."""
        whole, made = self.out / f"{name}.whole.o", self.out / f"{name}.o"
        objects = [self.out / "shim.o", mm_init]
        for symbol in sorted(self.undefined(mm_init) & LIBRARY[self.config.tools.arch].keys()):
            # arm64's make reaches arch/arm64/lib on two ways: at once, they would delete each other's files.
            self.make(LIBRARY[self.config.tools.arch][symbol], jobs=1)
            objects.append(self.out / LIBRARY[self.config.tools.arch][symbol])
        objcopy = self.tool("objcopy")
        run([self.tool("ld"), "-r", "-o", whole, *objects], f"linking {name}")
        run([objcopy, f"--keep-global-symbol={EXPORTED}", *(f"--remove-section={section}" for section in DROPPED), whole, made], f"objcopy {name}")
        run([objcopy, "--prefix-symbols=k_", made], f"objcopy {name}")
        run([objcopy, f"--redefine-sym=k_{EXPORTED}={as_name or name}_side", *(f"--redefine-sym=k_{symbol}={symbol}" for symbol in IMPORTED), made],
            f"objcopy {name}")
        return made


def prepare(options: Options, where: Path, config: Config) -> Kernel:
    """Return the kernel in where, configured, with mm/mm_init.o and the shim up to date."""
    out = options.build / "replay" / f"{config.name}-{where.name}-{digest(config.text(), config.tools.version(), str(where))}"
    for old in out.parent.glob(f"{config.name}-{where.name}-*"):
        if old != out:
            shutil.rmtree(old)
    out.mkdir(parents=True, exist_ok=True)
    kernel = Kernel(where, config, out, options)
    step(f"replay: mm/mm_init.o of {where.name} ({config.name})")
    if not (out / ".config").exists():
        configure(options, config.tools, where, out, config.text(), f"the replay ({config.name})")
    kernel.make("mm/mm_init.o")
    kernel.compile_like_mm_init(REPLAY / "shim.c", out / "shim.o")
    return kernel


def pair(options: Options, trees: Tree, config: Config) -> tuple[Kernel, Kernel]:
    """Return both kernels, prepared."""
    return prepare(options, trees.base, config), prepare(options, trees.series, config)


def unexpected(names: Sequence[str]) -> str:
    """Return assembly that gives each name a page of its own and lists them for crash.c."""
    pages = [f".globl {name}\n{name}: .skip 4096" for name in names]
    strings = [f"\t.quad {number}f\n\t.pushsection .rodata.names\n{number}:\t.string \"{name.removeprefix('k_')}\"\n\t.popsection"
               for number, name in enumerate(names)]
    return "\n".join([
        '.section .unexpected, "aw", %nobits', ".balign 4096", ".globl unexpected_start, unexpected_end, unexpected_names",
        "unexpected_start:", *pages, "unexpected_end:", ".skip 4096",
        '.section .rodata.names, "a"', '.section .rodata.unexpected, "a"', ".balign 8", "unexpected_names:", *strings,
        '.section .note.GNU-stack, "", %progbits', ""])


def link(kernel: Kernel, sides: Sequence[Path], made: Path) -> Path:
    """Link the kernels with the user-space half; made appears only when it is whole."""
    names = sorted(set().union(*(kernel.undefined(obj) for obj in sides)) - set(IMPORTED))
    assembly, part = made.with_suffix(".S"), made.with_suffix(".tmp")
    assembly.write_text(unexpected(names))
    sources = sorted(source for source in REPLAY.glob("*.c") if source.name != "shim.c")
    run([kernel.tool("gcc"), "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-no-pie", "-fno-pie", "-Wl,--no-warn-rwx-segments",
         "-o", part, *sources, assembly, *sides], "linking the replay program")
    return part.rename(made)


def mutate(after: Kernel, name: str, edits: Sequence[Sequence[str]]) -> Path:
    """Return the object of the series' mm/mm_init.c with the first text of each of edits replaced by the second.

    Raises Fault if a text is not there exactly once.
    """
    text = (after.tree / "mm/mm_init.c").read_text()
    for old, new in edits:
        if text.count(old) != 1:
            raise Fault(f"mutation {name}: {text.count(old)} times in mm/mm_init.c, not once: {old!r}")
        text = text.replace(old, new)
    source = after.out / f"{name}.c"
    source.write_text(text)
    return after.compile_like_mm_init(source, source.with_suffix(".mm_init.o"), f"-I{after.tree / 'mm'}")


def mutant(before: Kernel, after: Kernel, name: str, edits: Sequence[Sequence[str]]) -> Path:
    """Return a replay program with the series as mutate() makes it; Raises Fault as that does."""
    changed = mutate(after, name, edits)
    return link(after, [before.side("base", before.out / "mm/mm_init.o"), after.side("mutant", changed, "series")], after.out / name)


def program(options: Options, trees: Tree, config: Config = DEFAULT) -> Path:
    """Return the replay program of two trees in one configuration, built anew where needed.

    Where the series has a memcpy_nt() of the architecture, a third kernel, "fallback", is the series without it.
    """
    before, after = pair(options, trees, config)
    sides = [before.side("base", before.out / "mm/mm_init.o"), after.side("series", after.out / "mm/mm_init.o")]
    if config.tools.arch == "x86_64":
        fallback = after.compile_like_mm_init(trees.series / "mm/mm_init.c", after.out / "fallback_mm_init.o",
                                              "-include", str(REPLAY / "fallback.h"))
        sides.append(after.side("fallback", fallback))
    return link(after, sides, after.out / "replay")
