# SPDX-License-Identifier: GPL-2.0
"""Find a sparse that can check the kernel: the installed one, or a later one from Debian."""

import shutil
from pathlib import Path

from harness.core.cache import replace, scratch
from harness.core.command import run
from harness.core.debian import Apt, NotOffered
from harness.core.errors import UserError
from harness.core.options import Options
from harness.core.progress import announce
from review.verdict import Skip

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

    Raises Skip when Debian offers none, UserError when the kernel tree does not accept it.
    """
    apt = Apt(fetched, "deb-src")
    try:
        package = apt.fetch("sparse", apt.find_version("sparse", SUITES))
    except NotOffered as reason:
        raise Skip(f"the installed sparse is too old for this kernel; {reason}") from None
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

    A later one from Debian is built under build/. Raises Skip when the installed one is too old and
    Debian offers no other. Raises UserError when the kernel accepts neither.
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
