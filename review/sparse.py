# SPDX-License-Identifier: GPL-2.0
"""Find a sparse that can check the kernel: the installed one, or a later one from Debian."""

import shutil
from pathlib import Path

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


def find_sparse(options: Options, tree: Path) -> Path:
    """Return a sparse that the kernel tree accepts.

    A later one from Debian is built under build/. Raises Skip when the installed one is too old and
    Debian offers no other. Raises UserError when the kernel accepts neither.
    """
    installed, made = shutil.which("sparse"), options.build / "sparse"
    if installed and is_usable(installed, tree):
        return Path(installed)
    if not made.exists():
        fetched = options.build / "sparse.tmp"
        shutil.rmtree(fetched, ignore_errors=True)
        fetched.mkdir()
        apt = Apt(fetched, "deb-src")
        try:
            package = apt.fetch("sparse", apt.find_version("sparse", SUITES))
        except NotOffered as reason:
            raise Skip(f"the installed sparse is too old for this kernel; {reason}") from None
        announce(f"building {package.stem}")
        run(
            ["dpkg-source", "--no-check", "--extract", package, fetched / "source"],
            "unpacking sparse",
        )
        run(
            ["make", "-C", fetched / "source", f"-j{options.jobs}", "CC=gcc", "sparse"],
            "building sparse",
            log=options.build / "sparse.log",
        )
        if not is_usable(fetched / "source/sparse", tree):
            raise UserError(
                f"{tree / 'scripts/checker-valid.sh'} accepts neither the installed sparse "
                f"nor {package.stem}: install a later one"
            )
        shutil.copy(fetched / "source/sparse", options.build / "sparse.new")
        shutil.rmtree(fetched)
        (options.build / "sparse.new").rename(made)
    if not is_usable(made, tree):
        raise UserError(f"the kernel does not accept {made}: remove it")
    return made
