# SPDX-License-Identifier: GPL-2.0
"""Compile what the series touches with W=1 and under sparse.

That is the installed sparse, or a later one from Debian if the kernel does not accept it.
"""

import shutil
from dataclasses import replace
from pathlib import Path

from checks.compile import X86_64, add_zone_device, compile_both
from harness.core import cache
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
    said = run(["sh", tree / "scripts/checker-valid.sh", program], "scripts/checker-valid.sh")
    return said.strip() == "1"


def build_sparse(options: Options, made: Path) -> None:
    """Build Debian's latest sparse; Raises NotOffered when Debian offers none."""
    folder = options.build / "sparse.source"
    with cache.scratch(folder) as fetched, cache.replace(made) as new:
        apt = Apt(fetched, "deb-src")
        try:
            package = apt.fetch("sparse", apt.find_version("sparse", SUITES))
        except NotOffered as reason:
            why = f"the installed sparse is too old for this kernel; {reason}"
            raise NotOffered(why) from None
        announce(f"building {package.stem}")
        source, log = fetched / "source", options.build / "sparse.log"
        run(["dpkg-source", "--no-check", "--extract", package, source], "unpacking sparse")
        make: list[str | Path] = ["make", "-C", source, f"-j{options.jobs}", "CC=gcc", "sparse"]
        run(make, "building sparse", log=log)
        shutil.copy(source / "sparse", new)


def find_sparse(options: Options, tree: Path) -> Path:
    """Return a sparse that the kernel tree accepts.

    A later one from Debian is built under build/. Raises NotOffered when the installed one is too
    old and Debian offers no other. Raises UserError when the kernel accepts neither.
    """
    installed, made = shutil.which("sparse"), options.build / "sparse"
    if installed and is_usable(installed, tree):
        return Path(installed)
    if not made.exists():
        build_sparse(options, made)
    if not is_usable(made, tree):
        raise UserError(
            f"{tree / 'scripts/checker-valid.sh'} accepts neither the installed sparse nor {made}: "
            "install a later one, or remove this one for Debian's latest"
        )
    return made


def check_objects(options: Options, trees: Trees) -> list[str]:
    """Return what gcc with W=1 and sparse say of the objects that the series touches, only of them.

    Raises NotOffered as find_sparse() does, UserError when something does not compile.
    """
    args = ("C=1", f"CHECK={find_sparse(options, trees.base)}")
    announce("checking the touched objects of base and series")
    return compile_both(options, trees, replace(add_zone_device(X86_64), args=args))[-1]
