# SPDX-License-Identifier: GPL-2.0
"""Programs: which variables they inherit, and the message when they fail."""

from pathlib import Path

import pytest

from harness.core import command, errors

BUILD = ["  CC utxferror.o", "a.c:1: error: no semicolon", "make: *** [a.o] Error 1"]
# The peer's differences are told in small letters.
COMPARISON = ["differs type=1", "DIFFERS type=2"]


@pytest.mark.parametrize(("said", "told"), [(BUILD, BUILD[1]), (COMPARISON, COMPARISON[1])])
def test_failing_command_is_one_line_and_logged(tmp_path: Path, said: list[str], told: str) -> None:
    log = tmp_path / "log"
    with pytest.raises(errors.UserError, match=rf"^making failed: {told} \(full log: {log}\)$"):
        command.run(["sh", "-c", 'printf "%s\\n" "$@"; exit 2', "sh", *said], "making", log=log)
    assert log.read_text().splitlines() == said


def test_missing_program() -> None:
    with pytest.raises(errors.UserError, match="no-such-program is missing: run 'make tools'"):
        command.run(["no-such-program"], "x")


CHANGING = "KCFLAGS LLVM ARCH KCONFIG_CONFIG MAKEFLAGS MFLAGS CROSS_COMPILE GIT_DIR LANGUAGE"


def test_environment_of_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables that change what make, git or a compiler does are not passed on."""
    for name in (*CHANGING.split(), "LC_ALL", "https_proxy"):
        monkeypatch.setenv(name, "the user's")
    told = dict(line.split("=", 1) for line in command.run(["env"], "env").splitlines())
    assert not told.keys() & {*CHANGING.split()}
    assert told["LC_ALL"] == "C.UTF-8"
    assert told["https_proxy"] == "the user's"
    assert told["PATH"]
