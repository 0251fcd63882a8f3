# SPDX-License-Identifier: GPL-2.0
"""The replay program: mm/mm_init.o of both kernels in one static executable.

Each kernel's object is linked with replay/shim.c, compiled by that kernel's own
command line, all its symbols get a prefix so that none meets one of the C
library, and only the one that describes it stays visible. A symbol that nobody
provides is given a page of its own that cannot be accessed: what the code does
not need costs nothing, and what it does need is named when it runs.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.core.architectures import ARM64, X86_64
from harness.core.cache import digest, drop_others
from harness.core.command import run
from harness.core.errors import UserError
from harness.core.folders import ROOT
from harness.core.options import Options
from harness.core.progress import announce
from harness.kernel.config import MEASURED, WITH_KMSAN, KernelConfig, configure
from harness.kernel.toolchain import Toolchain, compile_like_mm_init, split_targets
from harness.kernel.tree import Trees

REPLAY = ROOT / "replay"
# What the boot and the demotion replay share with this one, beside its shim.
SHARED = ("window", "timing", "crash", "machine", "kernels")
EXPORTED = "replay_side"
IMPORTED = ("replay_event", "replay_pgmap", "replay_queue", "replay_cancel")
# What the kernel calls to split a range among threads, and what it calls instead: see shim.c.
SPLIT = ("padata_do_multithreaded", "replay_do_multithreaded")
# Of no use in user space, or in the way of the linker.
DROPPED = (".modinfo", ".discard*", ".note*", ".initcall*", ".eh_frame")


DEFAULT = replace(MEASURED, name="default")
CLANG = Toolchain(llvm="-19")
HUGETLB = ("HUGETLBFS", "HUGETLB_PAGE", "HUGETLB_PAGE_OPTIMIZE_VMEMMAP")
CONFIGS = {
    config.name: config
    for config in (
        DEFAULT,
        # compound_info holds the head's address, not a mask.
        replace(
            DEFAULT,
            name="pointer",
            lines=tuple(f"# CONFIG_{symbol} is not set" for symbol in HUGETLB),
        ),
        # Two more words, so not a power of two. Without KMSAN itself the code can run here.
        replace(
            DEFAULT,
            name="page80",
            lines=WITH_KMSAN,
            tools=CLANG,
            args=("KMSAN_SANITIZE=n",),
        ),
        # Also without ZONE_DMA, so that ZONE_DEVICE has another number.
        replace(
            DEFAULT,
            name="nomemcg",
            lines=("# CONFIG_MEMCG is not set", "CONFIG_EXPERT=y", "# CONFIG_ZONE_DMA is not set"),
        ),
        replace(DEFAULT, name="debug", lines=("CONFIG_DEBUG_VM=y", "CONFIG_DEBUG_VM_PGFLAGS=y")),
        replace(
            DEFAULT,
            name="trace",
            fragments=(*DEFAULT.fragments, "tracers"),
            lines=("CONFIG_DEBUG_PAGE_REF=y",),
        ),
        replace(DEFAULT, name="clang", tools=CLANG),
        KernelConfig(
            "arm64",
            ("common", "zone_device", "fortify"),
            ("CONFIG_COMPACTION=y",),
            Toolchain(ARM64),
        ),
    )
}


def find_missing(config: KernelConfig) -> list[str]:
    """Return the programs that the replay of a configuration needs and that are not installed."""
    runner = config.tools.architecture.runner
    return config.missing() + [program for program in runner if not shutil.which(program)]


@dataclass(frozen=True)
class Objects:
    """The objects of one tree in one configuration."""

    tree: Path
    config: KernelConfig
    out: Path
    options: Options

    def make(self, *targets: str, jobs: int | None = None) -> None:
        """Run the kernel's make; Raises UserError when it fails."""
        what = f"make {targets[-1]} ({self.config.name}, {self.tree.name})"
        args = ("-s", *self.config.args, *targets)
        self.config.tools.make(self.options, self.tree, self.out, what, *args, jobs=jobs)

    def prepare(self, *targets: str) -> None:
        """Configure the kernel and make targets; Raises UserError as make() does."""
        self.out.mkdir(parents=True, exist_ok=True)
        drop_others(self.out)
        announce(f"replay: {', '.join(targets)} of {self.tree.name} ({self.config.name})")
        # Each time, as a change of the tree can bring new options; .config stays if it is the same.
        configure(
            self.options, self.config, self.tree, self.out, f"the replay ({self.config.name})"
        )
        self.make(*targets)

    def tool(self, name: str) -> str:
        """Return the program of binutils that fits the objects."""
        return self.config.tools.architecture.cross + name

    def compile(self, source: Path, made: Path, *flags: str) -> Path:
        """Compile source to made as mm/mm_init.c was compiled, with flags added."""
        return compile_like_mm_init(self.out, source, made, *flags)

    def list_undefined(self, obj: Path) -> set[str]:
        """Return the names that an object needs."""
        return {
            line.split()[-1]
            for line in run([self.tool("nm"), "-u", obj], f"nm {obj.name}").splitlines()
        }

    def link_side(
        self,
        name: str,
        mm_init: Path,
        as_name: str = "",
        *,
        more: Sequence[Path] = (),
        shim: str = "shim.o",
        imported: Sequence[str] = IMPORTED,
    ) -> Path:
        """Return mm_init, the shim and more objects as one object, NAME.o.

        Only its symbol AS_NAME_side, or else NAME_side, is visible.
        """
        whole, made = self.out / f"{name}.whole.o", self.out / f"{name}.o"
        objects = [self.out / shim, mm_init, *more]
        library = self.config.tools.architecture.library
        needed = set().union(*(self.list_undefined(obj) for obj in objects))
        routines = [library[name] for name in sorted(needed & library.keys())]
        for jobs, some in split_targets(routines):
            self.make(*some, jobs=jobs)
        objects += [self.out / routine for routine in routines]
        objcopy = self.tool("objcopy")
        run([self.tool("ld"), "-r", "-o", whole, *objects], f"linking {name}")
        run(
            [
                objcopy,
                f"--keep-global-symbol={EXPORTED}",
                *(f"--remove-section={section}" for section in DROPPED),
                whole,
                made,
            ],
            f"objcopy {name}",
        )
        run([objcopy, "--prefix-symbols=k_", made], f"objcopy {name}")
        run(
            [
                objcopy,
                f"--redefine-sym=k_{EXPORTED}={as_name or name}_side",
                *(f"--redefine-sym=k_{symbol}={symbol}" for symbol in imported),
                made,
            ],
            f"objcopy {name}",
        )
        return made


def place_objects(options: Options, where: Path, config: KernelConfig) -> Objects:
    """Return the kernel in where, in the folder of its configuration; nothing is built yet."""
    name = f"{config.name}-{where.name}"
    key = digest(config.text(), config.tools.version(), str(where))
    return Objects(where, config, options.build / "replay" / f"{name}-{key}", options)


def build_objects(options: Options, where: Path, config: KernelConfig) -> Objects:
    """Return the kernel in where, configured, with mm/mm_init.o and the shim up to date."""
    kernel = place_objects(options, where, config)
    kernel.prepare("mm/mm_init.o")
    kernel.compile(REPLAY / "shim.c", kernel.out / "shim.o")
    return kernel


def link_side(
    kernel: Objects, name: str, as_name: str = "", changed: dict[str, Path] | None = None
) -> Path:
    """Link one kernel, with its own padata where it splits ranges, and with some objects changed.

    See Objects.link_side().
    """
    parts = {"mm/mm_init": kernel.out / "mm/mm_init.o"} | (changed or {})
    mm_init = parts.pop("mm/mm_init")
    # On arm64 the shim has no threads.
    splits = SPLIT[0] in kernel.list_undefined(mm_init)
    if splits and kernel.config.tools.architecture is X86_64 and "kernel/padata" not in parts:
        kernel.make("kernel/padata.o")
        parts["kernel/padata"] = kernel.out / "kernel/padata.o"
    made = kernel.out / f"{name}.mm_init.o"
    run([kernel.tool("objcopy"), f"--redefine-sym={'='.join(SPLIT)}", mm_init, made], "objcopy")
    return kernel.link_side(name, made, as_name, more=list(parts.values()))


def build_pair(options: Options, trees: Trees, config: KernelConfig) -> tuple[Objects, Objects]:
    """Return both kernels, prepared."""
    return build_objects(options, trees.base, config), build_objects(options, trees.series, config)


def list_unexpected(names: Sequence[str]) -> str:
    """Return assembly that gives each name a page of its own and lists them for crash.c."""
    pages = [f".globl {name}\n{name}: .skip 4096" for name in names]
    strings = [
        f"\t.quad {number}f\n\t.pushsection .rodata.names\n"
        f'{number}:\t.string "{name.removeprefix("k_")}"\n\t.popsection'
        for number, name in enumerate(names)
    ]
    return "\n".join(
        [
            '.section .unexpected, "aw", %nobits',
            ".balign 4096",
            ".globl unexpected_start, unexpected_end, unexpected_names",
            "unexpected_start:",
            *pages,
            "unexpected_end:",
            ".skip 4096",
            '.section .rodata.names, "a"',
            '.section .rodata.unexpected, "a"',
            ".balign 8",
            "unexpected_names:",
            *strings,
            '.section .note.GNU-stack, "", %progbits',
            "",
        ]
    )


def list_sources(folder: Path) -> list[Path]:
    """Return the C files of the user-space half in folder, with those that it shares."""
    own = sorted(source for source in folder.glob("*.c") if source.name != "shim.c")
    return own if folder == REPLAY else [*(REPLAY / f"{name}.c" for name in SHARED), *own]


def link_program(
    kernel: Objects,
    sides: Sequence[Path],
    made: Path,
    folder: Path = REPLAY,
    imported: Sequence[str] = IMPORTED,
) -> Path:
    """Link the kernels with folder's user-space half; made appears only when it is whole."""
    names = sorted(set().union(*(kernel.list_undefined(obj) for obj in sides)) - set(imported))
    assembly, part = made.with_suffix(".S"), made.with_suffix(".tmp")
    assembly.write_text(list_unexpected(names))
    run(
        [
            kernel.tool("gcc"),
            "-std=gnu11",
            "-O2",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-static",
            "-no-pie",
            "-fno-pie",
            "-Wl,--no-warn-rwx-segments",
            "-o",
            part,
            *list_sources(folder),
            assembly,
            *sides,
        ],
        "linking the replay program",
    )
    return part.rename(made)


def find_part(file: str) -> str:
    """Return the object that shows a change of FILE, without its suffix: a header's C file."""
    return file.rpartition(".")[0]


def mutate_object(
    after: Objects, name: str, edits: Sequence[Sequence[str]], file: str = "mm/mm_init.c"
) -> Path:
    """Return the object of the series' FILE after edits, pairs of an old and a new text.

    FILE is a C or an assembly file, or the header of a C file.

    Raises UserError if an old text does not occur exactly once.
    """
    original = after.tree / file
    text = original.read_text()
    for old, new in edits:
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
    return after.compile(source, source.with_suffix(".o"), f"-I{original.parent}", *flags)


def build_mutant(
    before: Objects,
    after: Objects,
    name: str,
    edits: Sequence[Sequence[str]],
    file: str = "mm/mm_init.c",
) -> Path:
    """Return a replay program whose series has edits in FILE; see mutate_object()."""
    changed = {find_part(file): mutate_object(after, name, edits, file)}
    sides = [link_side(before, "base"), link_side(after, "mutant", "series", changed)]
    return link_program(after, sides, after.out / name)


def build_peer(options: Options, peer: Path, config: KernelConfig) -> Path:
    """Return the peer's object; Raises UserError when its mm/mm_init.c does not compile."""
    try:
        objects = build_objects(options, peer, config)
        return link_side(objects, "peer")
    except UserError as error:
        raise UserError(
            f"PEER={options.peer} cannot be built: {error}: correct it, or leave PEER out"
        ) from None


def build_replay(
    options: Options, trees: Trees, config: KernelConfig = DEFAULT, peer: Path | None = None
) -> Path:
    """Return the replay program of the trees in one configuration, built anew where needed.

    Where the series has a memcpy_nt() of the architecture, a third kernel, "fallback", is the
    series without it. Raises UserError when a tree does not compile.
    """
    before, after = build_pair(options, trees, config)
    sides = [link_side(before, "base"), link_side(after, "series")]
    if config.tools.architecture is X86_64:
        fallback = after.compile(
            trees.series / "mm/mm_init.c",
            after.out / "fallback_mm_init.o",
            "-include",
            str(REPLAY / "fallback.h"),
        )
        sides.append(link_side(after, "fallback", changed={"mm/mm_init": fallback}))
    if peer:
        sides.append(build_peer(options, peer, config))
    return link_program(after, sides, after.out / ("replay-peer" if peer else "replay"))
