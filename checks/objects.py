# SPDX-License-Identifier: GPL-2.0
"""The objects that the series touches, compiled alone for an architecture: what the compiler says of both trees at W=1."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from checks.messages import complaints
from harness.kernels import configure
from harness.options import Options
from harness.process import ROOT, Fault, git
from harness.toolchain import Toolchain
from harness.tree import Tree

# They include the headers that the series touches; memremap is the caller.
USERS = ("drivers/md/dm-writecache.c", "mm/memremap.c", "mm/sparse-vmemmap.c")
# No objects of an ordinary kernel: user space, what must not compile, and the sanitizers' own tests, which are those of SANITIZERS.
ELSEWHERE = (":!tools", ":!lib/test_fortify", ":!mm/kasan", ":!mm/kmsan", ":!kernel/kcsan")


@dataclass(frozen=True)
class Architecture:
    """What to compile for: lines on top of allnoconfig, whether ZONE_DEVICE exists there, and users of the headers of its own."""

    name: str
    tools: Toolchain
    lines: tuple[str, ...] = ()
    zone_device: bool = True
    users: tuple[str, ...] = ()

    def text(self, zone_device: bool) -> str:
        """Return the lines of the configuration."""
        names = ("objects", "objects-zone_device") if zone_device else ("objects",)
        return "".join(f"{line}\n" for line in self.lines) + "".join((ROOT / f"kernels/{name}.config").read_text() for name in names)


WIDE = ("CONFIG_64BIT=y",)
# Deferred initialisation shares mm/mm_init.c; KMSAN excludes it.
X86_64 = Architecture("x86_64", Toolchain(), (*WIDE, "CONFIG_DEFERRED_STRUCT_PAGE_INIT=y"), users=("arch/x86/lib/usercopy_64.c",))
CLANG = Architecture("x86_64-clang", Toolchain(llvm="-19"), X86_64.lines, users=X86_64.users)
I386 = Architecture("i386", Toolchain("i386"), zone_device=False)  # ZONE_DEVICE needs SPARSEMEM_VMEMMAP, which is 64-bit,
UML = Architecture("um", Toolchain("um"), WIDE, zone_device=False)  # and UML knows only FLATMEM.
ARM64 = Architecture("arm64", Toolchain("arm64", "aarch64-linux-gnu-"))
ARCHITECTURES = (
    X86_64,
    CLANG,
    I386,
    UML,
    ARM64,
    Architecture("riscv64", Toolchain("riscv", "riscv64-linux-gnu-"), ("CONFIG_ARCH_RV64I=y", "CONFIG_MMU=y", "CONFIG_SPARSEMEM_MANUAL=y")),
    Architecture("s390", Toolchain("s390", "s390x-linux-gnu-")),
    Architecture("powerpc64", Toolchain("powerpc", "powerpc64le-linux-gnu-"),
                 ("CONFIG_PPC64=y", "CONFIG_PPC_BOOK3S_64=y", "CONFIG_CPU_LITTLE_ENDIAN=y")),
    # KFENCE makes it the one ZONE_DEVICE architecture with WANT_PAGE_VIRTUAL. Debian 12 has no gcc for it.
    Architecture("loongarch64", Toolchain("loongarch", llvm="-19"), ("CONFIG_64BIT=y", "CONFIG_SPARSEMEM_MANUAL=y", "CONFIG_KFENCE=y")),
)
# The sanitizers' own tests, by folder, compile with their sanitizer only, which sees the reports by trace points.
REPORTS = ("CONFIG_DEBUG_KERNEL=y", "CONFIG_FTRACE=y", "CONFIG_ENABLE_DEFAULT_TRACERS=y")
SANITIZERS = {
    folder: Architecture(f"x86_64-{name}", tools, (*WIDE, *REPORTS, (ROOT / f"kernels/{name}.config").read_text()))
    for folder, name, tools in (("mm/kasan/", "kasan", Toolchain()), ("mm/kmsan/", "kmsan", CLANG.tools), ("kernel/kcsan/", "kcsan", Toolchain()))
}
# Where memcpy_nt() is memcpy(), for KASAN's.
FALLBACK = Architecture("arm64-kasan", ARM64.tools, (*REPORTS, "CONFIG_KASAN=y", "CONFIG_KASAN_GENERIC=y", "CONFIG_KASAN_KUNIT_TEST=y"))


# Tests that KUNIT_ALL_TESTS leaves out; this one needs ZONE_DEVICE and does not exist on s390.
MEMMAP_TEST = "mm/tests/zone_device_memmap_kunit.c"
MEMMAP_LINE = "CONFIG_ZONE_DEVICE_MEMMAP_KUNIT_TEST=y\n"


def touched(trees: Tree, *where: str) -> list[str]:
    """Return the C files that the series adds or changes in a folder, or else in the kernel proper."""
    return git(trees.series, "diff", "--name-only", "--diff-filter=AM", "base", "HEAD", "--", *(where or ("*.c", *ELSEWHERE))).split()


class Objects:
    """The objects of one tree for one architecture, of files or else of what the series touches and of users of it, under build/objects/.

    ZONE_DEVICE on and off share what is generated.
    """

    def __init__(self, options: Options, trees: Tree, source: Path, architecture: Architecture, files: Sequence[str] = ()) -> None:
        self.options, self.source, self.architecture = options, source, architecture
        self.files = [*files] or [*touched(trees), *USERS, *architecture.users]
        self.out = options.build / f"objects/{architecture.name}-{source.name}"
        self.config: set[str] = set()

    def configure(self, zone_device: bool) -> None:
        """Configure, and make what every object needs; Raises Fault when a tool is missing or a line vanishes."""
        if missing := self.architecture.tools.missing():
            raise Fault(f"{', '.join(missing)} is missing: run 'make tools-all'")
        what = f"the objects ({self.architecture.name}, {self.source.name})"
        tested = zone_device and self.architecture.tools.arch != "s390" and (self.source / MEMMAP_TEST).exists()
        text = self.architecture.text(zone_device) + MEMMAP_LINE * tested
        configure(self.options, self.architecture.tools, self.source, self.out, text, what)
        self.config = set((self.out / ".config").read_text().splitlines())
        self.make("prepare")

    def make(self, *targets: str, jobs: int | None = None) -> str:
        """Return what make says at W=1; Raises Fault when it fails."""
        what = f"make {targets[-1]} ({self.architecture.name}, {self.source.name})"
        return self.architecture.tools.make(self.options, self.source, self.out, what, "-s", "W=1", *targets, jobs=jobs)

    def target(self, file: str) -> str:
        """Return the object made from a C file, empty if this tree or configuration makes none."""
        if not (self.source / file).exists():
            return ""
        folder = next(folder for folder in Path(file).parents if (self.source / folder / "Makefile").exists())
        name = re.escape(str(Path(file).relative_to(folder).with_suffix(".o")))
        rule = re.search(rf"^obj-\$\((\w+)\).*[ \t]{name}\b", (self.source / folder / "Makefile").read_text(), re.M)
        return f"{file.removesuffix('c')}o" if not rule or f"{rule[1]}=y" in self.config else ""

    def compile(self) -> tuple[list[str], list[str]]:
        """Compile anew and return the objects' names and the warnings, without line numbers; Raises Fault when it fails."""
        made = [target for file in self.files if (target := self.target(file))]
        for target in made:
            (self.out / target).unlink(missing_ok=True)
        # Folders of a library are reached on two ways at once, and the two would delete each other's files.
        said = [self.make(*some, jobs=jobs) for jobs, some in (
            (None, [target for target in made if not target.startswith("arch/")]), (1, [target for target in made if target.startswith("arch/")])) if some]
        if lacking := [target for target in made if not (self.out / target).exists()]:
            raise Fault(f"make left out {', '.join(lacking)} ({self.architecture.name}, {self.source.name}): see {self.out}/make.log")
        return made, complaints("".join(said), self.source)
