# SPDX-License-Identifier: GPL-2.0
"""Compile what the series touches with W=1 and under sparse, if the installed one will do."""

import shutil
from dataclasses import replace
from pathlib import Path

from cells.compile import X86_64, add_zone_device, compile_both
from harness.core.command import run
from harness.core.options import Options
from harness.core.progress import announce
from harness.kernel.tree import Trees


def is_usable(program: str | Path | None, tree: Path) -> bool:
    """Return whether the kernel's own check accepts a sparse.

    With one that it rejects, make prints a warning and goes on without sparse.
    """
    check: list[str | Path] = ["sh", tree / "scripts/checker-valid.sh", program or ""]
    return bool(program) and run(check, "scripts/checker-valid.sh").strip() == "1"


def has_sparse(tree: Path) -> bool:
    """Return whether a sparse is installed that the kernel accepts: Debian 12's is too old."""
    return is_usable(shutil.which("sparse"), tree)


def check_objects(options: Options, trees: Trees) -> list[str]:
    """Return what gcc with W=1 and sparse say of the series' objects but not of the base's."""
    announce("checking the touched objects of base and series")
    return compile_both(options, trees, replace(add_zone_device(X86_64), args=("C=1",)))[-1]
