# SPDX-License-Identifier: GPL-2.0
"""The peer: another proposal for the same function, in a worktree beside base/ and series/.

PEER= names patches, which are applied to the base, or a commit.
"""

import contextlib
from pathlib import Path

from harness.core import Options, UserError, announce, git
from harness.kernel.topics import list_files, list_topics
from harness.kernel.tree import apply_patches, checkout_commit, open_scratch

FUNCTION = "memmap_init_zone_device"
SOURCE = "mm/mm_init.c"
MBOXES = (".patch", ".mbox", ".mbx")


def list_mboxes(where: Path) -> list[Path]:
    """Return the files with patches in their order.

    Looks in this order: a single file; the topics that a file `stack` lists; patches and mboxes in
    the folder; *.patch in its subfolders. Raises UserError as list_topics() does.
    """
    if where.is_file():
        return [where]
    if (where / "stack").exists():
        return [file for topic in list_topics(where) for file in list_files(topic)]
    mboxes = [path for path in where.iterdir() if path.is_file() and path.suffix in MBOXES]
    return sorted(mboxes or where.glob("*/*.patch"))


def apply_mails(base: Path, where: Path) -> str:
    """Apply the patches in where to the base and return the commit, the same for the same patches.

    Cover letters, which are mails without a patch, are skipped. Raises UserError when there is no
    patch, or when one does not apply, whose file the error names.
    """
    with open_scratch(base, base.parent / "peer.tmp") as scratch:
        for file in list_mboxes(where):
            announce(f"applying {file}")
            advice = "rebase it on the base, or leave PEER out"
            apply_patches(scratch, [file], f"PEER={where}: {file.name}", advice, empty="drop")
        if not git(scratch, "log", "base.."):
            raise UserError(
                f"PEER={where} holds no patches: "
                "put there what git format-patch writes, or an mbox named *.mbox"
            )
        return git(scratch, "rev-parse", "HEAD")


def find_peer(options: Options, base: Path) -> str:
    """Return the commit that PEER= names, in LINUX= or the base; Raises UserError if none."""
    for repository in filter(None, (options.linux, base)):
        with contextlib.suppress(UserError):
            return git(repository, "rev-parse", "--verify", "-q", f"{options.peer}^{{commit}}")
    place = f"of LINUX={options.linux}" if options.linux else "of the base, and LINUX= is not set"
    raise UserError(
        f"PEER={options.peer} is not a folder of patches, an mbox or a commit {place}: name one"
    )


def prepare_peer(options: Options, worktrees: Path) -> Path | None:
    """Return the peer's worktree below worktrees, None if PEER= is not set.

    Raises UserError when PEER= names neither patches that apply nor a commit, or when the
    function to compare is not there.
    """
    if not options.peer:
        return None
    base, where = worktrees / "base", Path(options.peer)
    commit = apply_mails(base, where.resolve()) if where.exists() else find_peer(options, base)
    try:
        git(base, "grep", "-q", "-F", f"{FUNCTION}(", commit, "--", SOURCE)
    except UserError:
        raise UserError(
            f"PEER={options.peer} has no {FUNCTION}() in {SOURCE}: name a kernel that has it there"
        ) from None
    return checkout_commit(worktrees, commit, "peer")
