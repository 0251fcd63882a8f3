# SPDX-License-Identifier: GPL-2.0
"""`make review` walks along the patches."""

from pathlib import Path

from harness.core import options
from harness.kernel import tree


def test_walk(toy_options: options.Options, toy_series: Path) -> None:
    """The worktree checks out each commit, and writes only the files that differ."""
    worktrees = tree.apply_series(toy_options, toy_series).base.parent
    walked = tree.list_patches(worktrees, toy_series)
    assert [one.name for one in walked] == ["a/0001", "a/0002", "b/0001"]
    for one, line in zip(walked, ("better 3;", "better 9;", "better 15;"), strict=True):
        where = tree.checkout_commit(worktrees, one.commit)
        assert line in (where / "mm.c").read_text()
    before = (where / "Makefile").stat().st_mtime_ns
    (where / "mm.c").write_text("left by somebody")
    (worktrees / "base/.git/worktrees/step/index.lock").touch()
    where = tree.checkout_commit(worktrees, walked[0].commit)
    assert "better 3;" in (where / "mm.c").read_text()
    assert (where / "Makefile").stat().st_mtime_ns == before
