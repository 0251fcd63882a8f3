# SPDX-License-Identifier: GPL-2.0
"""Removes the build folder, unless it is not ours, in use, or holds work of the user."""

from pathlib import Path

from harness.core.cache import remove
from harness.core.command import git
from harness.core.errors import UserError
from harness.core.folders import MARKER, ROOT, lock_build
from harness.core.options import read_options
from harness.core.progress import announce, say
from harness.core.stages import run_program
from harness.kernel.tree import check_work


def clean_build(build: Path) -> None:
    """Remove the build folder.

    Raises UserError for a folder that is not the harness's or holds the checkout, one that another
    run is using, and one with work on branch `series` that series/ lacks, or with what b4 sent.
    """
    if not build.exists():
        say(f"{build} is not there: nothing to do")
        return
    if ROOT.is_relative_to(build):
        raise UserError(f"BUILD={build} holds the checkout: name the folder that is to go")
    if not (build / MARKER).is_file():
        raise UserError(
            f"BUILD={build} is not marked as the harness's (it has no {MARKER}): "
            "remove it yourself if it is to go"
        )
    with lock_build(build):
        for worktrees in sorted(build.glob("source-*")):
            check_work(worktrees)
            sent = worktrees / "outbox"
            if sent.exists() and git(sent, "tag", "--list", "sent/*"):
                raise UserError(
                    f"{sent} has tags of what b4 sent: fetch them elsewhere, delete them"
                )
        announce(f"removing {build}")
        # The mark and the lock go last, so that what is interrupted can be gone on with.
        for entry in build.iterdir():
            if entry.name not in (MARKER, "lock"):
                remove(entry)
        remove(build)


if __name__ == "__main__":
    run_program(lambda: clean_build(read_options().build))
