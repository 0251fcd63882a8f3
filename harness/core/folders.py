# SPDX-License-Identifier: GPL-2.0
"""The checkout, and the build folder: marked as ours, locked by one run, with room on its disk."""

import contextlib
import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from harness.core.errors import UserError

ROOT = Path(__file__).resolve().parent.parent.parent
# A file in every build folder of ours; nothing else is ever removed as a whole.
MARKER = ".memmap-build"
# kbuild refuses them in paths, and make takes a path with a space for two words.
UNUSABLE = re.compile(r"[\s:]")


def check_path(name: str, path: Path) -> None:
    """Raise UserError if kbuild cannot work under path; name says what path is."""
    if UNUSABLE.search(str(path)):
        raise UserError(
            f"{name}={path} has a space or a colon in it, which kbuild refuses: use another folder"
        )


def need_disk(where: Path, gib: float, what: str) -> None:
    """Raise UserError unless the file system of where has gib GiB free."""
    free = shutil.disk_usage(where).free / 2**30
    if free < gib:
        raise UserError(
            f"{what} needs {gib:g} GiB under {where}, {free:.1f} GiB are free: "
            "make room, or set BUILD= to a folder on another disk"
        )


def mark_build(build: Path) -> None:
    """Make the build folder if it is not there, and mark it as ours.

    Raises UserError for a folder that holds something else.
    """
    build.mkdir(parents=True, exist_ok=True)
    if (build / MARKER).exists():
        return
    # The default folder is the harness's own, also where an older version left it unmarked.
    if build != ROOT / "build" and any(build.iterdir()):
        raise UserError(
            f"BUILD={build} holds files that are not the harness's: name a new or empty folder"
        )
    (build / MARKER).write_text("Made by the memmap harness; `make clean` removes all of it.\n")


@contextlib.contextmanager
def lock_build(build: Path) -> Iterator[None]:
    """Hold the build folder for this process.

    Raises UserError, naming the holder, when another process has it, and as mark_build() does.
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
