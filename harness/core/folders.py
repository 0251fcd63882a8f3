# SPDX-License-Identifier: GPL-2.0
"""The checkout and the build folder: its marker, its lock, and the free space on its disk."""

import contextlib
import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from harness.core.errors import UserError

ROOT = Path(__file__).resolve().parent.parent.parent
# This file marks a build folder as ours. No folder without it is ever removed as a whole.
MARKER = ".memmap-build"
# kbuild refuses spaces and colons in paths, and make splits a path at a space.
UNUSABLE = re.compile(r"[\s:]")


def check_path(name: str, path: Path) -> None:
    """Raise UserError if kbuild cannot work under path, which the message calls NAME."""
    if UNUSABLE.search(str(path)):
        raise UserError(
            f"{name}={path} has a space or a colon in it, which kbuild refuses: use another folder"
        )


def need_disk(where: Path, gib: float, what: str) -> None:
    """Raise UserError, which says what needs them, unless where has gib GiB free."""
    free = shutil.disk_usage(where).free / 2**30
    if free < gib:
        raise UserError(
            f"{what} needs {gib:g} GiB under {where}, but {free:.1f} GiB are free: "
            "make room, or set BUILD= to a folder on another disk"
        )


def mark_build(build: Path) -> None:
    """Make the build folder and mark it as ours; Raises UserError if it holds other files."""
    build.mkdir(parents=True, exist_ok=True)
    if (build / MARKER).exists():
        return
    # The default folder is always the harness's: an older version did not mark it.
    if build != ROOT / "build" and any(build.iterdir()):
        raise UserError(
            f"BUILD={build} holds files that are not the harness's: name a new or empty folder"
        )
    (build / MARKER).write_text("Made by the memmap harness; `make clean` removes all of it.\n")


@contextlib.contextmanager
def lock_build(build: Path) -> Iterator[None]:
    """Lock the build folder for this process.

    Raises UserError when another process holds the lock; the message names that process. Raises
    UserError when mark_build() refuses the folder.
    """
    mark_build(build)
    with (build / "lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise UserError(
                f"another run (process {lock.read().strip() or 'unknown'}) is using {build}: "
                "wait for it, or set BUILD= to another folder"
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield
