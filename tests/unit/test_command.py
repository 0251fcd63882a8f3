# SPDX-License-Identifier: GPL-2.0
"""Programs: which variables they inherit, and the message when they fail."""

from pathlib import Path

import pytest

from harness.core import command, errors


def test_failing_command_is_one_line_and_logged(tmp_path: Path) -> None:
    with pytest.raises(
        errors.UserError,
        match=r"^building failed: a.c:1: error: no semicolon \(full log: .*/log\)$",
    ):
        command.run(
            [
                "sh",
                "-c",
                "echo '  CC utxferror.o'; echo 'a.c:1: error: no semicolon'; "
                "echo 'make: *** [a.o] Error 1'; exit 2",
            ],
            "building",
            log=tmp_path / "log",
        )
    assert (tmp_path / "log").read_text().count("\n") == 3


def test_missing_program() -> None:
    with pytest.raises(errors.UserError, match="no-such-program is missing: run 'make tools'"):
        command.run(["no-such-program"], "x")


HOSTILE = {
    "KCFLAGS": "-DHOSTILE",
    "LLVM": "1",
    "ARCH": "arm64",
    "KCONFIG_CONFIG": "elsewhere",
    "MAKEFLAGS": "-n",
    "MFLAGS": "-n",
    "CROSS_COMPILE": "none-",
    "GIT_DIR": "/nonexistent",
    "LC_ALL": "de_DE.UTF-8",
    "LANGUAGE": "de",
}


def test_environment_of_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables that change what make, git or a compiler does are not passed on."""
    for name, value in HOSTILE.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("https_proxy", "proxy:3128")
    told = dict(line.split("=", 1) for line in command.run(["env"], "env").splitlines())
    assert {name: told[name] for name in HOSTILE if name in told} == {"LC_ALL": "C.UTF-8"}
    assert told["https_proxy"] == "proxy:3128"
    assert told["PATH"]


def test_make_ignores_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in HOSTILE.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "Makefile").write_text("all:\n\t@echo flags=$(KCFLAGS) llvm=$(LLVM) $(ARCH)\n")
    told = command.run(["make", "-s", "-C", tmp_path], "make")
    assert told == "flags= llvm=\n"


def test_git_ignores_the_environment(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    assert command.git(toy, "log", "-1", "--format=%s") == "mm: improve line 15"
