# SPDX-License-Identifier: GPL-2.0
"""What compiles a kernel: the architecture's GNU tools or LLVM, and what make is told of them."""

import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.core.architectures import X86_64, Architecture
from harness.core.command import run
from harness.core.options import Options
from harness.core.progress import say

SECONDS = 15


@dataclass(frozen=True)
class Toolchain:
    """An architecture and its compiler: clang with the suffix llvm if that is given, else gcc."""

    architecture: Architecture = X86_64
    llvm: str = ""

    @property
    def cc(self) -> str:
        """Name the compiler."""
        return f"clang{self.llvm}" if self.llvm else f"{self.architecture.cross}gcc"

    def missing(self) -> list[str]:
        """Return the programs that are not installed."""
        linker = f"ld.lld{self.llvm}" if self.llvm else f"{self.architecture.cross}ld"
        return [tool for tool in (self.cc, linker) if not shutil.which(tool)]

    def version(self) -> str:
        """Return what the compiler calls itself."""
        return run([self.cc, "--version"], self.cc).splitlines()[0]

    def words(self) -> list[str]:
        """Return the variables for make that name the tools, by way of ccache."""
        if self.llvm:
            return [f"LLVM={self.llvm}", f"CC=ccache {self.cc}"]
        cross = f"CROSS_COMPILE={self.architecture.cross}"
        return [cross, "HOSTCC=ccache gcc", f"CC=ccache {self.cc}"]

    def command(
        self, options: Options, tree: Path, out: Path, jobs: int | None = None
    ) -> list[str | Path]:
        """Return the command that makes targets of tree under out."""
        arch = f"ARCH={self.architecture.kernel}"
        return ["make", "-C", tree, f"O={out}", arch, f"-j{jobs or options.jobs}", *self.words()]

    def make(
        self,
        options: Options,
        tree: Path,
        out: Path,
        what: str,
        *args: str,
        jobs: int | None = None,
        log: Path | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> str:
        """Make targets of tree under out and return make's output, which log (else out/make.log) keeps.

        Raises UserError as run() does.
        """
        command = [*self.command(options, tree, out, jobs), *args]
        log = log or out / "make.log"
        return run(command, what, log=log, progress=progress, env=make_variables(options))


def make_variables(options: Options) -> dict[str, str]:
    """Return the environment variables of a build.

    ccache works under build/, and nothing of this machine or this moment gets into what is built.
    """
    return {
        "CCACHE_DIR": str(options.build / "ccache"),
        "CCACHE_MAXSIZE": "4G",
        # Relative paths let one configuration, or clone, reuse what another compiled.
        "CCACHE_BASEDIR": str(options.build),
        "CCACHE_NOHASHDIR": "1",
        "CCACHE_DEPEND": "1",
        "KBUILD_BUILD_TIMESTAMP": "@0",
        "KBUILD_BUILD_USER": "harness",
        "KBUILD_BUILD_HOST": "harness",
        "KBUILD_BUILD_VERSION": "1",
    }


def split_targets(targets: Iterable[str]) -> list[tuple[int | None, list[str]]]:
    """Return the targets in groups for one make each, with the number of jobs, None for any.

    kbuild reaches a library folder below arch/ on two ways, and two jobs at once would delete
    each other's files there.
    """
    groups: dict[int | None, list[str]] = {None: [], 1: []}
    for target in targets:
        groups[1 if target.startswith("arch/") else None].append(target)
    return [(jobs, some) for jobs, some in groups.items() if some]


def count_lines(what: str) -> Callable[[str], None]:
    """Return a progress callback that counts kbuild's lines and reports every SECONDS seconds."""
    done, last = 0, time.monotonic()

    def count(line: str) -> None:
        nonlocal done, last
        done += line.startswith("  ")
        if time.monotonic() - last >= SECONDS:
            last = time.monotonic()
            say(f"{what}: {done} files, {line.split()[-1] if line.split() else ''}")

    return count
