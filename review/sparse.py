# SPDX-License-Identifier: GPL-2.0
"""Compile what the series touches with W=1 and under sparse.

That is the installed sparse, or a later one from Debian if the kernel does not accept it.
"""

import shutil
from pathlib import Path

from checks.compile import X86_64, Compilation
from checks.warnings import find_added
from harness.core.cache import replace, scratch
from harness.core.command import run
from harness.core.debian import Apt, NotOffered
from harness.core.errors import UserError
from harness.core.options import Options
from harness.core.progress import announce
from harness.kernel.tree import Trees

SUITES = ("sid", "trixie-backports")


def is_usable(program: str | Path, tree: Path) -> bool:
    """Return whether the kernel's own check accepts a sparse.

    With a sparse that it rejects, make prints a warning and goes on without sparse.
    """
    return (
        run(["sh", tree / "scripts/checker-valid.sh", program], "scripts/checker-valid.sh").strip()
        == "1"
    )


def build_sparse(options: Options, fetched: Path, tree: Path) -> Path:
    """Build Debian's latest sparse in the empty folder fetched, and return the program.

    Raises NotOffered when Debian offers none, UserError when the kernel tree does not accept it.
    """
    apt = Apt(fetched, "deb-src")
    try:
        package = apt.fetch("sparse", apt.find_version("sparse", SUITES))
    except NotOffered as reason:
        raise NotOffered(f"the installed sparse is too old for this kernel; {reason}") from None
    announce(f"building {package.stem}")
    source, log = fetched / "source", options.build / "sparse.log"
    run(["dpkg-source", "--no-check", "--extract", package, source], "unpacking sparse")
    make: list[str | Path] = ["make", "-C", source, f"-j{options.jobs}", "CC=gcc", "sparse"]
    run(make, "building sparse", log=log)
    if not is_usable(source / "sparse", tree):
        raise UserError(
            f"{tree / 'scripts/checker-valid.sh'} accepts neither the installed sparse "
            f"nor {package.stem}: install a later one"
        )
    return source / "sparse"


def find_sparse(options: Options, tree: Path) -> Path:
    """Return a sparse that the kernel tree accepts.

    A later one from Debian is built under build/. Raises NotOffered when the installed one is too
    old and Debian offers no other. Raises UserError when the kernel accepts neither.
    """
    installed, made = shutil.which("sparse"), options.build / "sparse"
    if installed and is_usable(installed, tree):
        return Path(installed)
    if not made.exists():
        with scratch(options.build / "sparse.source") as fetched, replace(made) as new:
            shutil.copy(build_sparse(options, fetched, tree), new)
    if not is_usable(made, tree):
        raise UserError(f"the kernel does not accept {made}: remove it")
    return made


class Checked(Compilation):
    """Objects of one worktree that sparse checks too."""

    checker = Path()

    def make(self, *targets: str) -> str:
        """Return what make, the compiler and sparse say, an error of sparse as a warning.

        Raises UserError when a file does not compile, or when make left sparse out.
        """
        said = super().make("C=1", f"CHECK={self.checker}", *targets)
        if "not available or not up to date" in said:
            raise UserError(f"the kernel does not accept {self.checker}: remove it")
        return said.replace(" error: ", " warning: ")


def check_objects(options: Options, trees: Trees) -> list[str]:
    """Return what gcc with W=1 and sparse say of the objects that the series touches, only of them.

    Raises NotOffered as find_sparse() does, UserError when something does not compile.
    """
    said, checker = [], find_sparse(options, trees.base)
    for source in (trees.base, trees.series):
        objects = Checked(options, trees, source, X86_64)
        objects.checker = checker
        announce(f"checking the touched objects of {source.name}")
        objects.configure(True)
        said.append(objects.compile()[1])
    return find_added(*said)
