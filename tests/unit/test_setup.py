# SPDX-License-Identifier: GPL-2.0
"""What is installed before a target runs, and what BUILD= may be."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness import setup
from harness.core import command, errors, folders, options


@pytest.mark.parametrize(
    ("words", "folder"), [([], "build"), (["BUILD="], "build"), (["BUILD=a b"], "a b")]
)
def test_empty_build_is_the_default(words: list[str], folder: str) -> None:
    """As a part of a path, it would be the root."""
    show = ["make", "-s", "--eval=show:;@echo $$BUILD", "show"]
    assert command.run([*show, *words], "make", cwd=folders.ROOT) == f"{folder}\n"


def test_packages_that_cannot_be_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine that has no package, and whose apt fails."""
    for name, status in (("apt-get", 100), ("dpkg-query", 0)):
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {status}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    build = tmp_path / "build"
    complaint = "^packages could not be installed: as root, run 'apt-get install python3-venv'"
    with pytest.raises(errors.UserError, match=complaint):
        setup.provide("tables", options.read_options({"BUILD": str(build)}))
    assert not (build / "venv").exists()


def test_old_python_is_named(tmp_path: Path) -> None:
    """In one line, by each target that runs Python."""
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "python3").chmod(0o755)
    script = (folders.ROOT / "harness/setup.sh").read_text()
    (tmp_path / "setup.sh").write_text(script.replace("/usr/bin", str(tmp_path)))
    complaint = command.run(["sh", tmp_path / "setup.sh", "list"], "setup.sh", fine=(1,))
    assert complaint == f"error: {tmp_path}/python3 is older than 3.11\n"
    rules = (folders.ROOT / "Makefile").read_text().split("\n\n")
    runs = [rule for rule in rules if "$(SYSTEM_PYTHON)" in rule and "\n\t" in rule]
    assert [rule for rule in runs if "$(SETUP)" not in rule] == []


@pytest.mark.parametrize("target", ["list", "tables", "check", "outbox"])
def test_what_builds_no_kernel_runs_on_any_machine(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.uname", lambda: SimpleNamespace(machine="aarch64"))
    monkeypatch.setattr(setup, "find_missing", lambda _: [])
    monkeypatch.setattr(setup, "install_venv", lambda _: None)
    setup.provide(target, options.read_options({"BUILD": str(tmp_path / "build")}))
    assert {"bison", "flex", "libelf-dev"} & {*setup.list_packages(target, "x86_64")} == set()
    with pytest.raises(errors.UserError, match="^this host is aarch64: kernels are built on x86"):
        setup.provide("objects", options.read_options({}))
