# SPDX-License-Identifier: GPL-2.0
"""Source, tree and export on a toy kernel: neither a round trip nor a failure changes anything."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.core import command, errors, options
from harness.kernel import export, source, topics, tree


def test_export_after_work(toy_options: options.Options, toy_series: Path) -> None:
    trees = tree.apply_series(toy_options, toy_series)
    (trees.series / "new.c").write_text("int x;\n")
    command.git(trees.series, "add", "new.c")
    command.git(trees.series, "commit", "-q", "-m", "mm: add a file")
    with pytest.raises(errors.UserError, match="has commits that series/ lacks: run 'make export'"):
        tree.apply_series(toy_options, toy_series)

    def refuse(mails: Mapping[str, str]) -> Mapping[str, str]:
        raise errors.UserError(f"no table in {len(mails)}")

    before = [*toy_series.rglob("*")]
    with pytest.raises(errors.UserError, match="^no table in 5$"):
        export.export_series(toy_options, toy_series, refuse)
    assert [*toy_series.rglob("*")] == before
    export.export_series(toy_options, toy_series)
    assert [path.name for path in topics.list_files(toy_series / "b")] == [
        "0001-mm-improve-line-15.patch",
        "0002-mm-add-a-file.patch",
    ]
    assert tree.apply_series(toy_options, toy_series) == trees


def test_base_with_v11_takes_what_is_on_top(
    toy_options: options.Options, toy_series: Path, toy: Path
) -> None:
    command.git(toy, "checkout", "-q", "v7.3-rc7")
    (toy / "include/linux").mkdir(parents=True)
    (toy / "include/linux/string.h").write_text("#define memcpy_nontemporal memcpy\n")
    command.git(toy, "add", "include")
    command.git(toy, "commit", "-q", "-m", "v11")
    command.git(toy, "tag", "-d", "v7.3-rc7")
    (toy_series / "a").rename(toy_series / topics.ON_V11)
    trees = tree.apply_series(toy_options, toy_series)
    assert command.git(trees.series, "diff", "--stat", "base").count("mm.c | 4") == 1


def test_only_what_changed_is_written(
    toy_options: options.Options, toy_series: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trees = tree.apply_series(toy_options, toy_series)
    assert "applying" in capsys.readouterr().out
    for name in ("mm.c", "Makefile"):
        os.utime(trees.series / name, (1, 1))
    tree.apply_series(toy_options, toy_series)
    assert "applying" not in capsys.readouterr().out
    assert (trees.series / "mm.c").stat().st_mtime == 1
    [patch] = topics.list_files(toy_series / "b")
    patch.write_text(patch.read_text().replace("better 15", "best 15"))
    tree.apply_series(toy_options, toy_series)
    assert "best 15" in (trees.series / "mm.c").read_text()
    assert (trees.series / "Makefile").stat().st_mtime == 1


def test_patch_that_does_not_apply(toy_options: options.Options, toy_series: Path) -> None:
    trees = tree.apply_series(toy_options, toy_series)
    head = command.git(trees.series, "rev-parse", "HEAD")
    patch = toy_series / "a/0002-mm-improve-line-9.patch"
    good = patch.read_text()
    patch.write_text(good.replace("line 9;", "line 99;"))
    with pytest.raises(errors.UserError, match="^a/0002-.*.patch does not apply at mm.c"):
        tree.apply_series(toy_options, toy_series)
    assert command.git(trees.series, "rev-parse", "HEAD", "series") == f"{head}\n{head}"
    assert not (trees.series.parent / "series.tmp").exists()
    assert len(command.git(trees.base, "worktree", "list").splitlines()) == 2
    patch.write_text(good)
    assert tree.apply_series(toy_options, toy_series) == trees


def test_clone_is_not_written_to(toy_options: options.Options, toy_series: Path, toy: Path) -> None:
    def state() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in toy.rglob("*") if path.is_file()}

    before = state()
    tree.apply_series(toy_options, toy_series)
    assert state() == before


def test_worktree_and_shallow_clones_will_do(toy: Path, tmp_path: Path) -> None:
    command.git(toy, "worktree", "add", "-q", "--detach", tmp_path / "worktree", "HEAD")
    command.git(tmp_path, "clone", "-q", "--depth=1", f"file://{toy}", tmp_path / "shallow")
    for clone in ("worktree", "shallow"):
        worktrees = source.prepare_source(
            options.read_options({"LINUX": str(tmp_path / clone), "BUILD": str(tmp_path)})
        )
        assert "SUBLEVEL" in (worktrees / "base/Makefile").read_text()


def test_bad_stack(toy_options: options.Options, toy_series: Path) -> None:
    (toy_series / "stack").write_text("a\n")
    with pytest.raises(errors.UserError, match="b has patches but .*stack does not list it: add"):
        tree.apply_series(toy_options, toy_series)
