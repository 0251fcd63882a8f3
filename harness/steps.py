# SPDX-License-Identifier: GPL-2.0
"""The series patch by patch: its commits, and a worktree that walks along them, beside base/ and series/."""

from dataclasses import dataclass
from pathlib import Path

from harness.process import ROOT, git
from harness.tree import drop, patches, topics


@dataclass(frozen=True)
class Step:
    """One patch of the series as mail and as a commit, and the commit that it stands on."""

    patch: Path
    commit: str
    parent: str

    @property
    def name(self) -> str:
        """Name the patch by topic and number."""
        return f"{self.patch.parent.name}/{self.patch.name[:4]}"


def steps(home: Path, series: Path = ROOT / "series") -> list[Step]:
    """Return every patch of series/ in order; the branch `series` below home must be up to date (harness.tree)."""
    commits = git(home / "base", "rev-list", "--reverse", "base..series").split()
    mails = [patch for topic in topics(series) for patch in patches(topic)]
    parents = [git(home / "base", "rev-parse", "base^{commit}"), *commits]
    return [Step(*step) for step in zip(mails, commits, parents[:-1], strict=True)]


def checkout(home: Path, commit: str) -> Path:
    """Return the worktree home/step with commit checked out.

    Only files that differ are written, so what is built from it is built
    incrementally. Changes in it are thrown away.
    """
    where = home / "step"
    if not (where / ".git").exists():
        drop(home / "base", where)
        git(home / "base", "worktree", "add", "-q", "--detach", "--no-checkout", where, commit)
    # Left by a run that was killed in here; the lock on build/ says that its owner is gone.
    (home / "base/.git/worktrees/step/index.lock").unlink(missing_ok=True)
    git(where, "checkout", "-q", "--force", "--detach", commit)
    return where
