# SPDX-License-Identifier: GPL-2.0
"""Where the base comes from, and what is said when it cannot be had."""

import subprocess
from pathlib import Path

import pytest
from support import Stage

from harness.core import command, debian, errors, options
from harness.kernel import source


def fault_of(done: "subprocess.CompletedProcess[str]") -> str:
    """Return the one line of a stage that failed as it should."""
    assert done.returncode == 1, done
    [line] = done.stderr.splitlines()
    return line


def test_linux_is_no_repository(stage: Stage, tmp_path: Path) -> None:
    assert "is not a git repository that can be read" in fault_of(
        stage("harness.kernel.source", LINUX=str(tmp_path / "nothing"))
    )


def test_linux_is_no_kernel(stage: Stage, toy: Path) -> None:
    command.git(toy, "tag", "-d", "v7.3-rc7")
    command.git(toy, "rm", "-q", "Makefile")
    command.git(toy, "commit", "-q", "-m", "no kernel")
    assert "holds no kernel, the series needs v7.3-rc7" in fault_of(
        stage("harness.kernel.source", LINUX=str(toy))
    )


def test_linux_is_another_version(stage: Stage, toy: Path, tmp_path: Path) -> None:
    command.git(toy, "tag", "-d", "v7.3-rc7")
    (toy / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 0\nEXTRAVERSION =\n")
    command.git(toy, "commit", "-q", "-a", "-m", "older")
    assert "holds kernel 6.1.0, the series needs v7.3-rc7: fetch that tag there" in fault_of(
        stage("harness.kernel.source", LINUX=str(toy))
    )
    assert [path.name for path in (tmp_path / "build").iterdir()] == ["lock"]


def test_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "archives", lambda: ["http://127.0.0.1:9/debian"])
    with pytest.raises(
        errors.UserError, match="offers linux-source-7.3: check the network, or set LINUX=.*onnect"
    ):
        source.prepare_source(options.read_options({"BUILD": str(tmp_path)}))
    assert not list(tmp_path.glob("source-*"))
