# SPDX-License-Identifier: GPL-2.0
"""What is installed before a target runs, and what BUILD= may be."""

import os
from pathlib import Path

import pytest

from harness import setup
from harness.core import command, errors, folders, options


@pytest.mark.parametrize(
    ("words", "told"), [([], "build"), (["BUILD="], "build"), (["BUILD=a b"], "a b")]
)
def test_empty_build_is_the_default(words: list[str], told: str) -> None:
    """As a part of a path, it would be the root."""
    show = ["make", "-s", "--eval=show:;@echo $$BUILD", "show"]
    assert command.run([*show, *words], "make", cwd=folders.ROOT) == f"{told}\n"


def test_packages_that_cannot_be_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine that has no package, and whose apt fails."""
    for name, status in (("apt-get", 100), ("dpkg-query", 0)):
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {status}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    build = tmp_path / "build"
    told = "^packages could not be installed: as root, run 'apt-get install gcc libc6-dev .*'"
    with pytest.raises(errors.UserError, match=told):
        setup.provide("tables", options.read_options({"BUILD": str(build)}))
    assert not (build / "venv").exists()
