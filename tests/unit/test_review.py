# SPDX-License-Identifier: GPL-2.0
"""`make review` walks along the patches, and keeps what it found."""

from pathlib import Path

import pytest

from harness.core import errors, options
from harness.kernel import tree
from review import builds


def fail(_: Path) -> list[str]:
    raise errors.UserError("the kernel does not build")


def test_findings_are_kept_but_no_faults(toy_options: options.Options, toy_series: Path) -> None:
    trees = tree.apply_series(toy_options, toy_series)
    first, second, _ = tree.list_patches(trees.base.parent, toy_series)
    made = []

    def make(where: Path) -> list[str]:
        made.append((where / "mm.c").read_text().count("better"))
        return ["found", "found"]

    head = toy_options, trees, "vm"
    for patch, config in ((first, "a"), (first, "a"), (first, "b"), (second, "b")):
        assert builds.keep_findings(*head, patch, config, make) == ["found", "found"]
    assert made == [1, 1, 2]
    with pytest.raises(errors.UserError):
        builds.keep_findings(*head, second, "c", fail)
    builds.keep_findings(*head, second, "c", make)
    assert made == [1, 1, 2, 2]


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
