# SPDX-License-Identifier: GPL-2.0
"""Compile only the objects that the series touches, for each architecture, with W=1."""

import re
from collections.abc import Sequence
from pathlib import Path

from harness.cells.warnings import find_added, find_warnings
from harness.core import Options, UserError, architectures, git, say
from harness.kernel.config import KernelConfig, configure
from harness.kernel.configs import ZONE_DEVICE
from harness.kernel.toolchain import need_tools
from harness.kernel.tree import Trees

# Files that include the headers that the series touches. mm/memremap.c is also the caller of
# memmap_init_zone_device().
USERS = ("drivers/md/dm-writecache.c", "mm/memremap.c", "arch/x86/lib/usercopy_64.c")
# Files that an ordinary kernel does not compile: user space, tests that must fail to compile, and
# the sanitizers' own tests, for which there is SANITIZERS.
ELSEWHERE = (":!tools", ":!lib/test_fortify", ":!mm/kasan", ":!mm/kmsan", ":!kernel/kcsan")
# KUNIT_ALL_TESTS leaves this test out. It needs ZONE_DEVICE and does not exist on s390.
MEMMAP_TEST = "mm/tests/zone_device_memmap_kunit.c"
MEMMAP_LINE = "CONFIG_ZONE_DEVICE_MEMMAP_KUNIT_TEST=y\n"


def list_touched(trees: Trees, *where: str) -> list[str]:
    """Return the C files that the series adds or changes in where, or else in the kernel proper."""
    args = ("diff", "--name-only", "--diff-filter=AM", "base", "HEAD", "--")
    return git(trees.series, *args, *(where or ("*.c", *ELSEWHERE))).split()


class Compilation:
    """The objects of one worktree in one configuration, under build/objects/.

    They are made from files or, without files, from what the series touches and from its users.
    Builds with and without ZONE_DEVICE share the generated files.
    """

    def __init__(
        self,
        options: Options,
        trees: Trees,
        source: Path,
        target: KernelConfig,
        files: Sequence[str] = (),
    ) -> None:
        self.options, self.source, self.target = options, source, target
        self.files = [*files] or [*list_touched(trees), *USERS]
        self.out = options.build / f"objects/{target.name}-{source.name}"
        self.config: set[str] = set()

    def configure(self) -> None:
        need_tools(self.target.tools.missing())
        what = f"the objects ({self.target.name}, {self.source.name})"
        tested = self.target.tools.architecture is not architectures.S390
        tested &= ZONE_DEVICE in self.target.fragments and (self.source / MEMMAP_TEST).exists()
        configure(self.options, self.target, self.source, self.out, what, MEMMAP_LINE * tested)
        self.config = set((self.out / ".config").read_text().splitlines())
        self.make("prepare")

    def make(self, *targets: str) -> str:
        what = f"make {targets[-1]} ({self.target.name}, {self.source.name})"
        args = ("-s", "W=1", *self.target.args, *targets)
        return self.target.tools.make(self.options, self.source, self.out, what, *args)

    def name_object(self, file: str) -> str:
        """Return the object of a C file, or an empty string if this configuration makes none."""
        own = self.target.tools.architecture.folder
        foreign = file.startswith("arch/") and not file.startswith(f"{own}/")
        if foreign or not (self.source / file).exists():
            return ""
        folder = next(
            folder for folder in Path(file).parents if (self.source / folder / "Makefile").exists()
        )
        name = str(Path(file).relative_to(folder).with_suffix(""))
        bits = "64" if "CONFIG_64BIT=y" in self.config else "32"
        makefile = (self.source / folder / "Makefile").read_text().replace("$(BITS)", bits)
        is_made = self.is_made(name, makefile.replace("\\\n", " "))
        return f"{file.removesuffix('c')}o" if is_made else ""

    def is_made(self, name: str, makefile: str) -> bool:
        """Return whether a Makefile's rules make NAME.o, maybe as a part of another object."""
        part = rf"(?:{re.escape(name)}\.o|\$\({name}-y\))(?:\s|$)"
        rule = rf"^([\w-]+?)-(?:\$\((\w+)\)|y|objs)\s*[:+]?=(?:.*[ \t])?{part}"
        return any(
            (not symbol or f"{symbol}=y" in self.config)
            and (whole in ("obj", "lib") or self.is_made(whole, makefile))
            for whole, symbol in re.findall(rule, makefile, re.M)
        )

    def compile(self) -> tuple[list[str], list[str]]:
        """Configure and compile, and return the objects' names and the warnings without lines.

        Raises UserError when it fails.
        """
        self.configure()
        objects = [name for file in self.files if (name := self.name_object(file))]
        for name in objects:
            (self.out / name).unlink(missing_ok=True)
        output = self.make(*objects) if objects else ""
        if lacking := [name for name in objects if not (self.out / name).exists()]:
            raise UserError(
                f"make left out {', '.join(lacking)} ({self.target.name}, {self.source.name}): "
                f"see {self.out}/make.log"
            )
        return objects, find_warnings(output, self.source)


def compile_both(
    options: Options, trees: Trees, target: KernelConfig, files: Sequence[str] = ()
) -> tuple[list[str], list[str], list[str]]:
    """Compile base and series; return the objects of each, and the warnings that series adds."""
    (old, before), (new, after) = (
        Compilation(options, trees, source, target, files).compile()
        for source in (trees.base, trees.series)
    )
    say(
        f"{target.name}: {len(old)} and {len(new)} objects, {len(before)} and {len(after)} warnings"
    )
    return old, new, find_added(before, after)
