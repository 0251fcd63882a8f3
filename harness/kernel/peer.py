# SPDX-License-Identifier: GPL-2.0
"""The peer: another proposal for the same function, in a worktree beside base/ and series/.

PEER= names patches, which are applied to the base, or a commit.
"""

import contextlib
import email
import re
import tempfile
from pathlib import Path

from harness.core import Options, UserError, announce, git
from harness.kernel.topics import list_files, list_topics
from harness.kernel.tree import apply_patch, checkout_commit, open_scratch

FUNCTION = "memmap_init_zone_device"
SOURCE = "mm/mm_init.c"
MBOXES = (".patch", ".mbox", ".mbx")
DIFF = re.compile(rb"^(?:diff --git |--- a/)", re.M)
COVER = re.compile(r"\b0+/\d+\]")


def list_mboxes(where: Path) -> list[Path]:
    """Return the files with patches in their order.

    Looks in this order: a single file; the topics that a file `stack` lists; patches and mboxes in
    the folder; *.patch in its subfolders. Raises UserError as list_topics() does.
    """
    if where.is_file():
        return [where]
    if (where / "stack").exists():
        return [file for topic in list_topics(where) for file in list_files(topic)]
    found = [path for path in where.iterdir() if path.is_file() and path.suffix in MBOXES]
    return sorted(found or where.glob("*/*.patch"))


def read_subject(mail: Path) -> str:
    """Return a patch's subject, or an empty string for a mail that is none, such as a cover."""
    message = email.message_from_bytes(mail.read_bytes())
    subject = " ".join(str(message["Subject"] or "a mail without a subject").split())
    bodies = [part.get_payload(decode=True) for part in message.walk()]
    found = any(isinstance(body, bytes) and DIFF.search(body) for body in bodies)
    return subject if found and not COVER.search(subject) else ""


def apply_mails(base: Path, where: Path) -> str:
    """Apply the patches in where to the base and return the commit, the same for the same patches.

    Raises UserError when there is none, or when one does not apply, which the error names.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        open_scratch(base, base.parent / "peer.tmp") as scratch,
    ):
        git(base, "mailsplit", "-b", f"-o{folder}", *list_mboxes(where))
        subjects = {mail: read_subject(mail) for mail in sorted(Path(folder).iterdir())}
        patches = {mail: subject for mail, subject in subjects.items() if subject}
        if not patches:
            raise UserError(
                f"PEER={where} holds no patches: "
                "put there what git format-patch writes, or an mbox named *.mbox"
            )
        for mail, subject in patches.items():
            announce(f"applying {subject}")
            advice = "rebase it on the base, or leave PEER out"
            apply_patch(scratch, mail, f"PEER={where}: {subject}", advice)
        return git(scratch, "rev-parse", "HEAD")


def find_peer(options: Options, base: Path) -> str:
    """Return the commit that PEER= names, in LINUX= or the base; Raises UserError if none."""
    for repository in filter(None, (options.linux, base)):
        with contextlib.suppress(UserError):
            return git(repository, "rev-parse", "--verify", "-q", f"{options.peer}^{{commit}}")
    where = f"of LINUX={options.linux}" if options.linux else "of the base, and LINUX= is not set"
    raise UserError(
        f"PEER={options.peer} is not a folder of patches, an mbox or a commit {where}: name one"
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
