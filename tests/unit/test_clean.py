# SPDX-License-Identifier: GPL-2.0
"""What `make clean` removes, and what it leaves alone."""

import contextlib
from pathlib import Path

import pytest

from harness import clean as stage
from harness.core import command, errors, folders, options
from harness.kernel import tree
from support import make, refusal


def test_own_folder_goes(tmp_path: Path) -> None:
    build = tmp_path / "build"
    with folders.lock_build(build):
        (build / "kernels/x").mkdir(parents=True)
        (build / "venv").symlink_to("kernels")
        (build / "log").touch()
    (tmp_path / "other").touch()
    for told in ("removing", "nothing to do"):
        done = make("clean", BUILD=str(build))
        assert done.returncode == 0 and told in done.stdout
        assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_foreign_folder_stays(tmp_path: Path) -> None:
    (tmp_path / "home/thesis").mkdir(parents=True)
    assert "is not marked as the harness's" in refusal("clean", BUILD=str(tmp_path / "home"))
    assert (tmp_path / "home/thesis").exists()
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["thesis"]


@pytest.mark.parametrize("build", [Path("/"), folders.ROOT, folders.ROOT.parent])
def test_folder_of_the_checkout_stays(build: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Even with its mark; and whatever clean_build() does, nothing is removed here.
    monkeypatch.setattr(Path, "is_file", lambda _: True)
    monkeypatch.setattr(stage, "lock_build", lambda _: contextlib.nullcontext())
    monkeypatch.setattr(stage, "check_work", lambda _: "")
    monkeypatch.setattr(stage, "remove", lambda _: None)
    with pytest.raises(errors.UserError, match=f"BUILD={build} holds the checkout"):
        stage.clean_build(build)


@pytest.mark.parametrize("name", ["a b", "a:b"])
def test_split_path_stays(name: str, tmp_path: Path) -> None:
    for folder in (name, "a", "b"):
        with folders.lock_build(tmp_path / folder):
            pass
    assert "has a space or a colon" in refusal("clean", BUILD=str(tmp_path / name))
    assert len(list(tmp_path.iterdir())) == 3


def test_work_stays(toy_options: options.Options, toy_series: Path) -> None:
    build = toy_options.build
    with folders.lock_build(build):
        series = tree.apply_series(toy_options, toy_series).series
    (series / "mm.c").write_text("half a thought\n")
    assert "has uncommitted changes: commit them and run 'make export'" in refusal(
        "clean", BUILD=str(build)
    )
    command.git(series, "commit", "-q", "-a", "-m", "a thought")
    assert "has commits that series/ lacks: run 'make export'" in refusal("clean", BUILD=str(build))
    assert (series / "mm.c").read_text() == "half a thought\n"
    command.git(series, "reset", "-q", "--hard", "HEAD~1")
    command.git(series.parent, "init", "-q", "outbox")
    command.git(series.parent / "outbox", "commit", "-q", "--allow-empty", "-m", "sent")
    command.git(series.parent / "outbox", "tag", "sent/a-v1")
    assert "has tags of what b4 sent" in refusal("clean", BUILD=str(build))
    command.git(series.parent / "outbox", "tag", "-d", "sent/a-v1")
    assert make("clean", BUILD=str(build)).returncode == 0
    assert not build.exists()
