# SPDX-License-Identifier: GPL-2.0
"""The series applied: a worktree of the base repository on branch `series`, beside base/.

Each folder of series/ is a topic with patches 0001-* and up. The file
series/stack lists the topics, each on top of the one above it; branch
`topic/NAME` marks where each but the last ends. The branch is rebuilt only when
a patch, the stack or the base changes; work in it that series/ lacks is never
thrown away.
"""

import contextlib
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from harness import source
from harness.options import Options, start
from harness.process import ROOT, Fault, digest, git, step


@dataclass(frozen=True)
class Tree:
    """The two worktrees, both of one repository."""

    base: Path
    series: Path


def topics(series: Path = ROOT / "series") -> list[Path]:
    """Return the topics' folders as series/stack lists them, the lowest first; Raises Fault when a folder with patches is not listed."""
    stack = series / "stack"
    if not stack.exists():
        raise Fault(f"{stack} is missing: list the topics in it, one a line, each on top of the one above it")
    names = [line.strip() for line in stack.read_text().splitlines() if line.strip() and not line.startswith("#")]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise Fault(f"{stack} lists {twice[0]} twice: remove one of the lines")
    found = {patch.parent.name for patch in series.glob("*/[0-9]*.patch")}
    if not names:
        raise Fault(f"{stack} lists no topic: add a line for each folder with patches")
    if left := sorted(found - set(names)):
        raise Fault(f"{series / left[0]} has patches but {stack} does not list it: add a line")
    return [series / name for name in names]


def patches(topic: Path) -> list[Path]:
    """Return a topic's patches in order, without its cover letter."""
    return sorted(patch for patch in topic.glob("[0-9]*.patch") if not patch.name.startswith("0000-"))


def end_of(topic: Path, last: Path) -> str:
    """Return the branch on which a topic ends."""
    return "series" if topic == last else f"topic/{topic.name}"


def record(home: Path, key: str) -> None:
    """Note that the branch holds what key stands for."""
    (home / "series.key").write_text(f"{key} {git(home / 'base', 'rev-parse', 'series')}\n")


def key_of(home: Path, stack: list[Path]) -> str:
    """Return what the branch is made from: the base and each patch by name and content."""
    parts = [
        part for topic in stack for patch in patches(topic) for part in (topic.name, patch.name, patch.read_bytes())
    ]
    return digest(git(home / "base", "rev-parse", "base"), *parts)


def guard(home: Path) -> str:
    """Return the key of the branch as it stands, empty if there is none; Raises Fault if it holds work that series/ lacks."""
    noted = home / "series.key"
    if not noted.exists() or not (home / "series").exists():
        return ""
    key, head = noted.read_text().split()
    if git(home / "series", "rev-parse", "HEAD", "series") != f"{head}\n{head}":
        raise Fault(
            f"{home / 'series'} has commits that series/ lacks: run 'make export', or 'git reset --hard {head[:12]}' there"
        )
    if git(home / "series", "status", "--porcelain", "--untracked-files=no"):
        raise Fault(
            f"{home / 'series'} has uncommitted changes: commit them and run 'make export', or 'git reset --hard' there"
        )
    return key


def apply(where: Path, patch: Path) -> None:
    """Commit one patch in the worktree where; Raises Fault that names the patch and the file it fails on."""
    try:
        git(where, "am", "-q", "--committer-date-is-author-date", patch)
    except Fault as fault:
        failed = re.search(r"patch failed: (\S+?):\d+|error: (\S+): ", str(fault))
        at = f" at {failed[1] or failed[2]}" if failed else f" ({fault})"
        raise Fault(
            f"{patch.parent.name}/{patch.name} does not apply{at}: rebase it in the branch and run 'make export'"
        ) from None


def drop(base: Path, worktree: Path) -> None:
    """Remove a worktree, whatever state it is in."""
    shutil.rmtree(worktree, ignore_errors=True)
    git(base, "worktree", "prune")


def tree(options: Options, series: Path = ROOT / "series") -> Tree:
    """Return both worktrees, the series' applied anew if its inputs changed.

    Raises Fault that names the patch that does not apply; the branch is then as it was.
    """
    home = source.source(options)
    base, stack = home / "base", topics(series)
    if empty := [topic.name for topic in stack if not patches(topic)]:
        raise Fault(f"{series}/stack lists {empty[0]}, which has no patches: run 'make export', or remove the line")
    key = key_of(home, stack)
    if guard(home) == key:
        return Tree(base, home / "series")
    made = home / "series.tmp"
    drop(base, made)
    git(base, "worktree", "add", "-q", "--detach", "--no-checkout", made, "base")
    # git am checks out what it touches, so nothing else need be there.
    git(made, "sparse-checkout", "set", "--no-cone", "/Makefile")
    git(made, "checkout", "-q")
    with contextlib.ExitStack() as stacked:
        stacked.callback(drop, base, made)
        ends = {}
        for topic in stack:
            for patch in patches(topic):
                step(f"applying {topic.name}/{patch.name}")
                apply(made, patch)
            ends[end_of(topic, stack[-1])] = git(made, "rev-parse", "HEAD")
    (home / "series.key").unlink(missing_ok=True)
    if not (home / "series").exists():
        git(base, "worktree", "prune")
        git(base, "worktree", "add", "-q", "--detach", "--no-checkout", home / "series", "base")
    # Left by a run that was killed in here; the lock on build/ says that its owner is gone.
    (base / ".git/worktrees/series/index.lock").unlink(missing_ok=True)
    # Only files that differ are written, so the next build is an incremental one.
    git(home / "series", "checkout", "-q", "--force", "-B", "series", ends.pop("series"))
    for name, commit in ends.items():
        git(base, "branch", "-f", name, commit)
    record(home, key)
    return Tree(base, home / "series")


if __name__ == "__main__":
    start(tree)
