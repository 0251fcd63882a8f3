# SPDX-License-Identifier: GPL-2.0
"""Compile only the objects that the series touches, for each architecture, with W=1."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from checks.warnings import find_warnings
from harness.core import architectures
from harness.core.command import git
from harness.core.errors import UserError
from harness.core.options import Options
from harness.kernel.config import KernelConfig, configure
from harness.kernel.toolchain import Toolchain, need_tools
from harness.kernel.tree import Trees

# Files that include the headers that the series touches. mm/memremap.c is also the caller of
# memmap_init_zone_device().
USERS = ("drivers/md/dm-writecache.c", "mm/memremap.c", "mm/sparse-vmemmap.c")
# Files that an ordinary kernel does not compile: user space, tests that must fail to compile, and
# the sanitizers' own tests, for which there is SANITIZERS.
ELSEWHERE = (":!tools", ":!lib/test_fortify", ":!mm/kasan", ":!mm/kmsan", ":!kernel/kcsan")
# KUNIT_ALL_TESTS leaves this test out. It needs ZONE_DEVICE and does not exist on s390.
MEMMAP_TEST = "mm/tests/zone_device_memmap_kunit.c"
MEMMAP_LINE = "CONFIG_ZONE_DEVICE_MEMMAP_KUNIT_TEST=y\n"
OBJECTS = ("common", "disks", "fortify", "kunit")
EVERY_TEST = "CONFIG_KUNIT_ALL_TESTS=y"
# dm-writecache.c needs it.
WRITECACHE = "CONFIG_DM_WRITECACHE=y"


@dataclass(frozen=True)
class Target:
    """A configuration to compile for.

    zone_device says whether ZONE_DEVICE exists there. users are more files that use the headers.
    """

    config: KernelConfig
    zone_device: bool = True
    users: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the target."""
        return self.config.name

    def choose(self, zone_device: bool) -> KernelConfig:
        """Return the configuration with or without ZONE_DEVICE."""
        if not zone_device:
            return self.config
        fragments = ("zone_device", *self.config.fragments)
        return replace(
            self.config, fragments=fragments, lines=(*self.config.lines, "CONFIG_FS_DAX=y")
        )


def target(
    architecture: architectures.Architecture,
    *symbols: str,
    name: str = "",
    llvm: str = "",
    fragments: tuple[str, ...] = (),
    zone_device: bool = True,
    users: tuple[str, ...] = (),
) -> Target:
    """Return a target of an architecture, with fragments and symbols on top of OBJECTS."""
    tools = Toolchain(architecture, llvm)
    asked = (EVERY_TEST, WRITECACHE, *(f"CONFIG_{symbol}=y" for symbol in symbols))
    config = KernelConfig(name or architecture.name, (*OBJECTS, *fragments), asked, tools)
    return Target(config, zone_device, users)


WIDE = "64BIT"
# Deferred initialisation is in mm/mm_init.c too. It cannot be combined with KMSAN.
DEFERRED = "DEFERRED_STRUCT_PAGE_INIT"
# Of these two, every file that the series touches.
X86_64, CLANG = (
    target(
        architectures.X86_64,
        *(WIDE, DEFERRED, "HUGETLBFS", "PCI", "NET", "INET", "INFINIBAND", "INFINIBAND_RDMAVT"),
        name=name,
        llvm=llvm,
        users=("arch/x86/lib/usercopy_64.c",),
    )
    for name, llvm in (("x86_64", ""), ("x86_64-clang", architectures.LLVM))
)
# ZONE_DEVICE needs SPARSEMEM_VMEMMAP. That is only for 64 bits, and UML has only FLATMEM.
I386 = target(architectures.I386, zone_device=False)
UML = target(architectures.UML, WIDE, zone_device=False)
# All of the 64-bit ones but UML have deferred initialisation, with SPARSEMEM_VMEMMAP only.
ARM64 = target(architectures.ARM64, DEFERRED)
SPARSEMEM = "SPARSEMEM_MANUAL"
TARGETS = (
    X86_64,
    CLANG,
    I386,
    UML,
    ARM64,
    target(architectures.RISCV64, "ARCH_RV64I", "MMU", SPARSEMEM, DEFERRED),
    # NUMA needs SCHED_TOPOLOGY there, which allnoconfig leaves out.
    target(architectures.S390, "SCHED_TOPOLOGY", DEFERRED),
    target(architectures.POWERPC64, "PPC64", "PPC_BOOK3S_64", "CPU_LITTLE_ENDIAN", DEFERRED),
    # With KFENCE it is the only architecture with both ZONE_DEVICE and WANT_PAGE_VIRTUAL.
    target(architectures.LOONGARCH64, WIDE, SPARSEMEM, DEFERRED, "KFENCE", llvm=architectures.LLVM),
)
# The sanitizers' own tests by folder. They compile only with their sanitizer.
DEBUG = "DEBUG_KERNEL"
SANITIZERS = {
    folder: target(
        architectures.X86_64,
        WIDE,
        DEBUG,
        name=f"x86_64-{name}",
        llvm=llvm,
        fragments=("tracers", name),
    )
    for folder, name, llvm in (
        ("mm/kasan/", "kasan", ""),
        ("mm/kmsan/", "kmsan", architectures.LLVM),
        ("kernel/kcsan/", "kcsan", ""),
    )
}
# KASAN's own tests where memcpy_nt() is memcpy().
FALLBACK = target(
    architectures.ARM64,
    *(DEBUG, "KASAN", "KASAN_GENERIC", "KASAN_KUNIT_TEST"),
    name="arm64-kasan",
    fragments=("tracers",),
)


def list_touched(trees: Trees, *where: str) -> list[str]:
    """Return the C files that the series adds or changes in where, or else in the kernel proper."""
    args = ("diff", "--name-only", "--diff-filter=AM", "base", "HEAD", "--")
    return git(trees.series, *args, *(where or ("*.c", *ELSEWHERE))).split()


class Compilation:
    """The objects of one worktree for one target, under build/objects/.

    They are made from files or, without files, from what the series touches and from its users.
    Builds with and without ZONE_DEVICE share the generated files.
    """

    def __init__(
        self,
        options: Options,
        trees: Trees,
        source: Path,
        target: Target,
        files: Sequence[str] = (),
    ) -> None:
        self.options, self.source, self.target = options, source, target
        self.files = [*files] or [*list_touched(trees), *USERS, *target.users]
        self.out = options.build / f"objects/{target.name}-{source.name}"
        self.config: set[str] = set()

    def configure(self, zone_device: bool) -> None:
        """Configure the kernel and prepare it; Raises UserError if a tool or a line is missing."""
        config = self.target.choose(zone_device)
        need_tools(config.missing())
        what = f"the objects ({self.target.name}, {self.source.name})"
        arch = config.tools.architecture.name
        tested = zone_device and arch != "s390" and (self.source / MEMMAP_TEST).exists()
        configure(self.options, config, self.source, self.out, what, MEMMAP_LINE * tested)
        self.config = set((self.out / ".config").read_text().splitlines())
        self.make("prepare")

    def make(self, *targets: str) -> str:
        """Run make with W=1 and return what it prints; Raises UserError when it fails."""
        what = f"make {targets[-1]} ({self.target.name}, {self.source.name})"
        args = ("-s", "W=1", *self.target.config.args)
        return self.target.config.tools.make(
            self.options, self.source, self.out, what, *args, *targets
        )

    def name_object(self, file: str) -> str:
        """Return the object of a C file, or an empty string if this configuration makes none."""
        own = self.target.config.tools.architecture.folder
        foreign = file.startswith("arch/") and not file.startswith(f"{own}/")
        if foreign or not (self.source / file).exists():
            return ""
        folder = next(
            folder for folder in Path(file).parents if (self.source / folder / "Makefile").exists()
        )
        made = str(Path(file).relative_to(folder).with_suffix(".o"))
        makefile = (self.source / folder / "Makefile").read_text().replace("\\\n", " ")
        return f"{file.removesuffix('c')}o" if self.is_made(made, makefile) else ""

    def is_made(self, name: str, makefile: str) -> bool:
        """Return whether a Makefile's rules make an object, maybe as a part of another one."""
        rules = re.findall(
            rf"^([\w-]+?)-(?:\$\((\w+)\)|y|objs)\s*[:+]?=(?:.*[ \t])?{re.escape(name)}(?:\s|$)",
            makefile,
            re.M,
        )
        return not rules or any(
            (not symbol or f"{symbol}=y" in self.config)
            and (whole in ("obj", "lib") or self.is_made(f"{whole}.o", makefile))
            for whole, symbol in rules
        )

    def compile(self, zone_device: bool = True) -> tuple[list[str], list[str]]:
        """Configure and compile, and return the objects' names and the warnings without lines.

        Raises UserError when it fails.
        """
        self.configure(zone_device)
        made = [name for file in self.files if (name := self.name_object(file))]
        for name in made:
            (self.out / name).unlink(missing_ok=True)
        said = self.make(*made) if made else ""
        if lacking := [name for name in made if not (self.out / name).exists()]:
            raise UserError(
                f"make left out {', '.join(lacking)} ({self.target.name}, {self.source.name}): "
                f"see {self.out}/make.log"
            )
        return made, find_warnings(said, self.source)
