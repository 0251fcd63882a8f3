# SPDX-License-Identifier: GPL-2.0
"""The series patch by patch: its commits, and a worktree beside base/ that checks out each."""

from dataclasses import dataclass
from pathlib import Path

from harness.core.command import git
from harness.core.folders import ROOT
from harness.kernel.topics import list_files, list_topics
from harness.kernel.tree import drop_worktree, unlock_worktree


@dataclass(frozen=True)
class Patch:
    """One patch of the series: its file and its commit."""

    patch: Path
    commit: str

    @property
    def name(self) -> str:
        """The topic and number of the patch."""
        return f"{self.patch.parent.name}/{self.patch.name[:4]}"


def list_patches(worktrees: Path, series: Path = ROOT / "series") -> list[Patch]:
    """Return the patches of series/ in order; apply_series() must have made the branch."""
    commits = git(worktrees / "base", "rev-list", "--reverse", "base..series").split()
    mails = [patch for topic in list_topics(series) for patch in list_files(topic)]
    return [Patch(*fields) for fields in zip(mails, commits, strict=True)]


def checkout_commit(worktrees: Path, commit: str, name: str = "step") -> Path:
    """Check out commit in worktrees/NAME, writing only what differs, and return its path."""
    where = worktrees / name
    if not (where / ".git").exists():
        drop_worktree(worktrees / "base", where)
        git(worktrees / "base", "worktree", "add", "-q", "--detach", "--no-checkout", where, commit)
    unlock_worktree(worktrees / "base", name)
    git(where, "checkout", "-q", "--force", "--detach", commit)
    return where
