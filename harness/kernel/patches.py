# SPDX-License-Identifier: GPL-2.0
"""The series patch by patch: its commits, and a worktree that walks along them, beside base/ and series/."""

from dataclasses import dataclass
from pathlib import Path

from harness.core.command import git
from harness.core.folders import ROOT
from harness.kernel.topics import list_files, list_topics
from harness.kernel.tree import drop_worktree


@dataclass(frozen=True)
class Patch:
    """One patch of the series as mail and as a commit, and the commit that it stands on."""

    patch: Path
    commit: str
    parent: str

    @property
    def name(self) -> str:
        """Name the patch by topic and number."""
        return f"{self.patch.parent.name}/{self.patch.name[:4]}"


def list_patches(worktrees: Path, series: Path = ROOT / "series") -> list[Patch]:
    """Return every patch of series/ in order; the branch `series` below worktrees must be up to date (harness.tree)."""
    commits = git(worktrees / "base", "rev-list", "--reverse", "base..series").split()
    mails = [patch for topic in list_topics(series) for patch in list_files(topic)]
    parents = [git(worktrees / "base", "rev-parse", "base^{commit}"), *commits]
    return [Patch(*step) for step in zip(mails, commits, parents[:-1], strict=True)]


def checkout_commit(worktrees: Path, commit: str, name: str = "step") -> Path:
    """Return the worktree worktrees/NAME with commit checked out.

    Only files that differ are written, so what is built from it is built
    incrementally. Changes in it are thrown away.
    """
    where = worktrees / name
    if not (where / ".git").exists():
        drop_worktree(worktrees / "base", where)
        git(worktrees / "base", "worktree", "add", "-q", "--detach", "--no-checkout", where, commit)
    # Left by a run that was killed in here; the lock on build/ says that its owner is gone.
    (worktrees / "base/.git/worktrees" / name / "index.lock").unlink(missing_ok=True)
    git(where, "checkout", "-q", "--force", "--detach", commit)
    return where
