# SPDX-License-Identifier: GPL-2.0
"""What `make clean` removes, and what it leaves alone."""

from pathlib import Path

from harness.core import command, folders, options
from harness.kernel import tree
from support import make, refusal


def test_foreign_folder_stays(tmp_path: Path) -> None:
    (tmp_path / "home/thesis").mkdir(parents=True)
    assert "is not marked as the harness's" in refusal("clean", BUILD=str(tmp_path / "home"))
    assert (tmp_path / "home/thesis").exists()
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["thesis"]


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
