# SPDX-License-Identifier: GPL-2.0
"""`make review` walks along the patches, whatever a killed run left."""

from pathlib import Path

from harness.core import command, options
from harness.kernel import tree


def test_walk(toy_options: options.Options, toy_series: Path) -> None:
    trees = tree.apply_series(toy_options, toy_series)
    worktrees = trees.base.parent
    for commit in command.git(trees.base, "rev-list", "--reverse", "base..series").split():
        checkout = tree.checkout_commit(worktrees, commit)
        assert not command.git(checkout, "diff", commit)
        (checkout / "mm.c").write_text("left by somebody")
        (worktrees / "base/.git/worktrees/step/index.lock").touch()
