# SPDX-License-Identifier: GPL-2.0
"""`make review` walks along the patches, and keeps what it found."""

from pathlib import Path

import pytest

from harness.core import command, errors, options
from harness.kernel import topics, tree
from review import builds, stable


def fail(_: Path) -> list[str]:
    raise errors.UserError("the kernel does not build")


def test_findings_are_kept_but_no_faults(toy_options: options.Options, toy_series: Path) -> None:
    trees = tree.apply_series(toy_options, toy_series)
    first, second, _ = tree.list_patches(trees.base.parent, toy_series)
    made = []

    def make(where: Path) -> list[str]:
        made.append((where / "mm.c").read_text().count("better"))
        return ["found", "found"]

    build = builds.Builds(toy_options, trees)
    for patch, config in ((first, "a"), (first, "a"), (first, "b"), (second, "b")):
        assert build.keep_findings("vm", patch, config, make) == ["found", "found"]
    assert made == [1, 1, 2]
    with pytest.raises(errors.UserError):
        build.keep_findings("vm", second, "c", fail)
    build.keep_findings("vm", second, "c", make)
    assert made == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("old", "new", "applies"),
    [
        ("line 15;", "line 15;", True),
        ("line 5;", "line of 5;", True),
        ("line 15;", "line of 15;", False),
    ],
)
def test_patch_that_the_stable_kernel_does_not_take(
    toy: Path, toy_series: Path, old: str, new: str, applies: bool
) -> None:
    one = topics.list_files(toy_series / "b")
    command.git(toy, "checkout", "-q", "v7.3-rc7")
    (toy / "mm.c").write_text((toy / "mm.c").read_text().replace(old, new))
    command.git(toy, "commit", "-q", "--allow-empty", "-a", "-m", "stable")
    if applies:
        stable.apply_patches(toy, one)
        assert "better 15;" in (toy / "mm.c").read_text()
    else:
        with pytest.raises(
            errors.UserError, match=f"^b/{one[0].name} does not apply at mm.c: rebase it$"
        ):
            stable.apply_patches(toy, one)
    assert not command.git(toy, "status", "--porcelain")


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
