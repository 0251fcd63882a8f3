# SPDX-License-Identifier: GPL-2.0
"""What compiles a kernel: the architecture, the GNU tools' prefix or LLVM's suffix, and what make is told of them."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.options import Options
from harness.process import run


@dataclass(frozen=True)
class Toolchain:
    """An ARCH of the kernel, and its compiler: gcc with the prefix cross, or clang with the suffix llvm if that is given."""

    arch: str = "x86_64"
    cross: str = ""
    llvm: str = ""

    @property
    def cc(self) -> str:
        """Name the compiler."""
        return f"clang{self.llvm}" if self.llvm else f"{self.cross}gcc"

    def missing(self) -> list[str]:
        """Return the programs that are not installed."""
        needed = [self.cc, f"ld.lld{self.llvm}"] if self.llvm else [self.cc, f"{self.cross}ld"]
        return [tool for tool in needed if not shutil.which(tool)]

    def version(self) -> str:
        """Return what the compiler calls itself."""
        return run([self.cc, "--version"], self.cc).splitlines()[0]

    def command(self, options: Options, tree: Path, out: Path, jobs: int | None = None) -> list[str | Path]:
        """Return the command that makes targets of tree under out, by way of ccache."""
        tools = [f"LLVM={self.llvm}"] if self.llvm else [f"CROSS_COMPILE={self.cross}", "HOSTCC=ccache gcc"]
        return ["make", "-C", tree, f"O={out}", f"ARCH={self.arch}", f"-j{jobs or options.jobs}", *tools, f"CC=ccache {self.cc}"]

    def make(
        self,
        options: Options,
        tree: Path,
        out: Path,
        what: str,
        *words: str,
        jobs: int | None = None,
        log: Path | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> str:
        """Make targets of tree under out and return what is said, which log keeps (else make.log in out); Raises Fault as run() does."""
        command = [*self.command(options, tree, out, jobs), *words]
        return run(command, what, log=log or out / "make.log", progress=progress, env=environment(options))


def environment(options: Options) -> dict[str, str]:
    """Return the environment for make: ccache under build/, and nothing of this machine or this moment in what is built."""
    return os.environ | {
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
