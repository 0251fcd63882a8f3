# SPDX-License-Identifier: GPL-2.0
"""Apply the series: a worktree of the base repository on the branch `series`, beside base/.

The branch `topic/NAME` marks the end of each topic but the last, which ends with `series`. The
branch is rebuilt only when a patch, the stack or the base changes. Work in it that series/ lacks
is never discarded.
"""

import contextlib
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.core import Options, UserError, announce, git, run_stage
from harness.core.cache import digest
from harness.kernel import source
from harness.kernel.topics import ON_V11, SERIES, list_files, list_topics, name_branch


@dataclass(frozen=True)
class Trees:
    """The two worktrees of one repository: the base and the series."""

    base: Path
    series: Path


def choose_stack(base: Path, series: Path = SERIES) -> list[Path]:
    """Return the topics that apply to the base, the lowest first; see list_topics()."""
    try:
        git(base, "grep", "-q", "memcpy_nontemporal", "base", "--", "include/linux/string.h")
    except UserError:
        return list_topics(series)
    return [series / ON_V11]


def record_key(worktrees: Path, key: str) -> None:
    """Record that the branch was made from the inputs of key."""
    (worktrees / "series.key").write_text(
        f"{key} {git(worktrees / 'base', 'rev-parse', 'series')}\n"
    )


def make_key(worktrees: Path, stack: list[Path]) -> str:
    """Return a digest of the branch's inputs: the base, and the name and content of each patch."""
    parts = [
        part
        for topic in stack
        for patch in list_files(topic)
        for part in (topic.name, patch.name, patch.read_bytes())
    ]
    return digest(git(worktrees / "base", "rev-parse", "base"), *parts)


def check_work(worktrees: Path) -> str:
    """Return the branch's key, or ''; Raises UserError if it holds work that series/ lacks."""
    noted = worktrees / "series.key"
    if not noted.exists() or not (worktrees / "series").exists():
        return ""
    key, head = noted.read_text().split()
    if git(worktrees / "series", "rev-parse", "HEAD", "series") != f"{head}\n{head}":
        raise UserError(
            f"{worktrees / 'series'} has commits that series/ lacks: "
            f"run 'make export', or 'git reset --hard {head[:12]}' there"
        )
    if git(worktrees / "series", "status", "--porcelain", "--untracked-files=no"):
        raise UserError(
            f"{worktrees / 'series'} has uncommitted changes: "
            "commit them and run 'make export', or 'git reset --hard' there"
        )
    return key


def apply_patches(
    where: Path,
    patches: Sequence[Path],
    name: str = "",
    advice: str = "rebase it in the branch and run 'make export'",
    empty: str = "stop",
) -> None:
    """Commit patches in the worktree where, by one call of git: each call reads the whole index.

    Raises UserError when one does not apply. The message names it, by name or else by its folder
    and file, and the file it fails on. advice says what to do. empty is what becomes of a mail
    without a patch: stop or drop.
    """
    try:
        git(where, "am", "-q", f"--empty={empty}", "--committer-date-is-author-date", *patches)
    except UserError as error:
        if not name:
            number = where / git(where, "rev-parse", "--git-path", "rebase-apply/next")
            patch = patches[int(number.read_text()) - 1]
            name = f"{patch.parent.name}/{patch.name}"
        failed = re.search(r"patch failed: (\S+?):\d+|error: (\S+): ", str(error))
        at = f" at {failed[1] or failed[2]}" if failed else f" ({error})"
        raise UserError(f"{name} does not apply{at}: {advice}") from None


def drop_worktree(base: Path, worktree: Path) -> None:
    """Remove a worktree, whatever its state."""
    shutil.rmtree(worktree, ignore_errors=True)
    git(base, "worktree", "prune")


def checkout_commit(worktrees: Path, commit: str, name: str = "step") -> Path:
    """Check out commit in worktrees/NAME, writing only what differs, and return its path."""
    base, where = worktrees / "base", worktrees / name
    if not (where / ".git").exists():
        drop_worktree(base, where)
        git(base, "worktree", "add", "-q", "--detach", "--no-checkout", where, commit)
    # A killed run may have left its lock on the index. As we hold the one on build/, none runs.
    (base / ".git/worktrees" / name / "index.lock").unlink(missing_ok=True)
    git(where, "checkout", "-q", "--force", "--detach", commit)
    return where


@contextlib.contextmanager
def open_scratch(base: Path, where: Path) -> Iterator[Path]:
    """Yield where as a worktree of the base, which is removed when the block ends."""
    drop_worktree(base, where)
    git(base, "worktree", "add", "-q", "--detach", "--no-checkout", where, "base")
    try:
        # git am checks out the files that it touches; the others are not needed.
        git(where, "sparse-checkout", "set", "--no-cone", "/Makefile")
        git(where, "checkout", "-q")
        yield where
    finally:
        drop_worktree(base, where)


def apply_series(options: Options, series: Path = SERIES) -> Trees:
    """Return both worktrees, and apply the series again if its inputs changed.

    Raises UserError when a patch does not apply; the message names it, and the branch stays as it
    was.
    """
    worktrees = source.prepare_source(options)
    base = worktrees / "base"
    stack = choose_stack(base, series)
    if empty := [topic.name for topic in stack if not list_files(topic)]:
        raise UserError(
            f"{series}/stack lists {empty[0]}, which has no patches: "
            "run 'make export', or remove the line"
        )
    key = make_key(worktrees, stack)
    if check_work(worktrees) == key:
        return Trees(base, worktrees / "series")
    with open_scratch(base, worktrees / "series.tmp") as branch:
        ends = {}
        for topic in stack:
            announce(f"applying {topic.name}")
            apply_patches(branch, list_files(topic))
            ends[name_branch(topic, stack[-1])] = git(branch, "rev-parse", "HEAD")
    (worktrees / "series.key").unlink(missing_ok=True)
    # git writes only the files that differ, so the next build is incremental.
    git(checkout_commit(worktrees, ends.pop("series"), "series"), "checkout", "-q", "-B", "series")
    for name, commit in ends.items():
        git(base, "branch", "-f", name, commit)
    record_key(worktrees, key)
    return Trees(base, worktrees / "series")


if __name__ == "__main__":
    run_stage(apply_series)
