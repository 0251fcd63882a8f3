# SPDX-License-Identifier: GPL-2.0
"""The tools that compile a kernel, GNU or LLVM, and the make command that uses them."""

import re
import shlex
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.core import Options, UserError, run, say
from harness.core.architectures import X86_64, Architecture

SECONDS = 15
# No host and no time in the kernel. And no ccache: few of the kernels here share a preprocessed
# file, and a file that it has not takes a third longer.
REPRODUCIBLE = {
    "KBUILD_BUILD_TIMESTAMP": "@0",
    "KBUILD_BUILD_USER": "harness",
    "KBUILD_BUILD_HOST": "harness",
    "KBUILD_BUILD_VERSION": "1",
}


@dataclass(frozen=True)
class Toolchain:
    """An architecture and its compiler: gcc, or clang with llvm, such as -19, behind its name."""

    architecture: Architecture = X86_64
    llvm: str = ""

    @property
    def cc(self) -> str:
        return f"clang{self.llvm}" if self.llvm else f"{self.architecture.cross}gcc"

    def missing(self) -> list[str]:
        linker = f"ld.lld{self.llvm}" if self.llvm else f"{self.architecture.cross}ld"
        return [tool for tool in (self.cc, linker) if not shutil.which(tool)]

    def version(self) -> str:
        return run([self.cc, "--version"], self.cc).splitlines()[0]

    def word(self) -> str:
        """Return the argument for make that chooses the tools."""
        return f"LLVM={self.llvm}" if self.llvm else f"CROSS_COMPILE={self.architecture.cross}"

    def make(
        self,
        options: Options,
        tree: Path,
        out: Path,
        what: str,
        *args: str,
        log: Path | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> str:
        """Run make on tree, with its output files under out, and return what make prints.

        args are targets, options and variables. Without a target nothing is built, where make alone
        would build the whole kernel. Targets below arch/ get a make of their own with one job:
        kbuild enters a library folder there in two ways, and two jobs at once would delete each
        other's files. log, by default out/make.log, keeps the text too. Raises UserError as run()
        does.
        """
        targets = [arg for arg in args if not arg.startswith("-") and "=" not in arg]
        rest = [f"ARCH={self.architecture.kernel}", self.word()]
        rest += [arg for arg in args if arg not in targets]
        below = [target for target in targets if target.startswith("arch/")]
        usual = [target for target in targets if target not in below]
        said, log, env = "", log or out / "make.log", REPRODUCIBLE
        for jobs, some in ((options.jobs, usual), (1, below)):
            command: list[str | Path] = ["make", "-C", tree, f"O={out}", f"-j{jobs}", *rest, *some]
            said += run(command, what, log=log, progress=progress, env=env) if some else ""
        return said


def need_tools(missing: Sequence[str]) -> None:
    if missing:
        raise UserError(f"{', '.join(missing)} is missing: run 'make tools-all'")


def compile_like_mm_init(
    out: Path, source: Path, output: Path, *flags: str, compiler: str = ""
) -> Path:
    """Compile source as make compiled mm/mm_init.c under out, with flags added.

    Another compiler takes the same command. Returns output. Raises UserError when it fails, or when
    make did not keep the command.
    """
    text = (out / "mm/.mm_init.o.cmd").read_text()
    saved = re.search(r"^savedcmd_mm/mm_init.o := (.*) \S*mm/mm_init\.c (.*)$", text, re.M)
    if not saved:
        raise UserError(f"{out}/mm/.mm_init.o.cmd has no command: remove {out} and run it again")
    command = f"{saved[1]} {shlex.join(flags)} {source} {saved[2]}"
    command = command.replace("$(pound)", "#").replace("$$", "$")
    command = command.replace("mm/.mm_init.o.d", f"{output}.d").replace("mm/mm_init.o", str(output))
    if compiler:
        command = f"{compiler} {command.partition(' ')[2]}"
    # Behind the compiler, objtool: an object from before must not hide that it failed.
    run(["sh", "-e", "-c", command], f"compiling {source.name} (in {out.name})", cwd=out)
    return output


def count_lines(what: str) -> Callable[[str], None]:
    """Return a callback that counts kbuild's lines and prints the count every SECONDS seconds."""
    done, last = 0, time.monotonic()

    def count(line: str) -> None:
        nonlocal done, last
        done += line.startswith("  ")
        if time.monotonic() - last >= SECONDS:
            last = time.monotonic()
            say(f"{what}: {done} files, {line.split()[-1] if line.split() else ''}")

    return count
