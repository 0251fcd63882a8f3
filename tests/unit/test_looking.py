# SPDX-License-Identifier: GPL-2.0
"""What can be seen without an environment, and what make refuses before it makes anything."""

import shlex
import sys
from pathlib import Path

import pytest

from harness.core import command, folders
from support import make


def test_list_is_what_pytest_collects() -> None:
    """The list is made without pytest. But for the boots, one line stands for all parameters."""
    collect = [sys.executable, "-B", "-m", "pytest", "--collect-only", "-q", "-m"]
    found: dict[str, str] = {}
    for label, marks in (("test", "not full"), ("test-all", "full")):
        told = command.run([*collect, marks, "tests/matrix"], "pytest", cwd=folders.ROOT)
        lines = [line for line in told.splitlines() if "::" in line]
        names = {line if "::test_boot[" in line else line.partition("[")[0] for line in lines}
        found |= {name: "partly" if name in found else label for name in names}
    listed = [line.split()[:2] for line in make("list").stdout.splitlines()]
    assert {name: label for label, name in listed} == found and len(listed) == len(found)


@pytest.mark.parametrize("target", ["help", "list", "config"])
def test_looking_installs_nothing(target: str, tmp_path: Path) -> None:
    done = make(target, BUILD=str(tmp_path / "build"))
    assert done.returncode == 0 and len(done.stdout.splitlines()) > 30
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("help SZIE=2G", "there is no variable SZIE: make help lists them"),
        ("test DRYRUN=1", "DRYRUN= is for make bench and make shell: leave it out"),
    ],
)
def test_variable_is_refused(words: str, told: str) -> None:
    done = command.run(["make", *words.split()], "make", cwd=folders.ROOT, fine=(2,))
    [line] = done.splitlines()
    assert told in line


@pytest.mark.parametrize(
    ("target", "script", "kernel"), [("bench", "rebind", ""), ("shell", "shell", "base")]
)
def test_dry_run(target: str, script: str, kernel: str, tmp_path: Path) -> None:
    """It prints what boots, and makes nothing."""
    done = make(target, DRYRUN="1", BUILD=str(tmp_path), ACCEL="tcg", KERNEL=kernel, SIZE="8G")
    [line] = done.stdout.splitlines()
    words = shlex.split(line)
    assert words[0] == "qemu-system-x86_64" and f"zdm.do={script}" in words[-1]
    image = tmp_path / f"kernels/{kernel or 'series'}/image"
    assert words[words.index("-kernel") + 1] == str(image)
    assert done.stderr.splitlines()[0] == f"not there yet, make {target} makes it: {image}"
    assert [*tmp_path.iterdir()] == []
