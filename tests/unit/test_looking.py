# SPDX-License-Identifier: GPL-2.0
"""What can be seen without an environment, and what make refuses before it makes anything."""

import sys
from pathlib import Path

import pytest

from harness.core import command, folders
from support import make


def test_list_is_what_pytest_collects() -> None:
    """The list is made without pytest. But for the boots, one line stands for all parameters."""
    collect = [sys.executable, "-B", "-m", "pytest", "--collect-only", "-q", "-m"]
    collected: dict[str, str] = {}
    for label, marks in (("test", "not full"), ("test-all", "full")):
        output = command.run([*collect, marks, "tests/matrix"], "pytest", cwd=folders.ROOT)
        lines = [line for line in output.splitlines() if "::" in line]
        names = {line if "::test_boot[" in line else line.partition("[")[0] for line in lines}
        collected |= {name: "partly" if name in collected else label for name in names}
    listed = [line.split()[:2] for line in make("list").stdout.splitlines()]
    assert {name: label for label, name in listed} == collected and len(listed) == len(collected)


@pytest.mark.parametrize("target", ["help", "list"])
def test_looking_installs_nothing(target: str, tmp_path: Path) -> None:
    done = make(target, BUILD=str(tmp_path / "build"))
    assert done.returncode == 0 and len(done.stdout.splitlines()) > 30
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("help SZIE=2G", "there is no variable SZIE: make help lists them"),
        ("memmap SIZE=8G", "make memmap has no SIZE=: leave it out"),
        ("check tables RUNS=1 BUILD=x", "make check tables has no RUNS=: leave it out"),
    ],
)
def test_variable_is_refused(words: str, complaint: str) -> None:
    done = command.run(["make", "-n", *words.split()], "make", cwd=folders.ROOT, fine=(2,))
    [line] = done.splitlines()
    assert complaint in line


def test_architecture_in_the_environment_is_not_meant() -> None:
    """Who builds kernels may have exported it. What is written behind make counts."""
    exported = make("bench", ARCH="arm64", MAKEFLAGS="n").stdout
    asked = command.run(["make", "-n", "bench", "ARCH=arm64"], "make", cwd=folders.ROOT)
    assert "harness.link.first" in exported and "harness.link.first" not in asked
