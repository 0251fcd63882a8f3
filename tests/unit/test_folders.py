# SPDX-License-Identifier: GPL-2.0
"""The build folder: its marker, its lock, the free space on its disk."""

import os
from pathlib import Path

import pytest
from support import Stage, read_error

from harness.core import errors, folders


def test_too_little_disk(tmp_path: Path) -> None:
    with pytest.raises(
        errors.UserError,
        match=r"the moon needs 1e\+06 GiB under .* GiB are free: make room, or set BUILD=",
    ):
        folders.need_disk(tmp_path, 1e6, "the moon")


def test_two_runs_at_once(stage: Stage, toy: Path, tmp_path: Path) -> None:
    with folders.lock_build(tmp_path / "build"):
        assert f"another run (process {os.getpid()}) is using" in read_error(
            stage("harness.kernel.source", LINUX=str(toy))
        )
    assert stage("harness.kernel.source", LINUX=str(toy)).returncode == 0
