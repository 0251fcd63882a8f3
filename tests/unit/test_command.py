# SPDX-License-Identifier: GPL-2.0
"""Programs: what they inherit, and how their failure reads."""

from pathlib import Path

import pytest

from harness.core import command, errors


def test_failing_command_is_one_line_and_logged(tmp_path: Path) -> None:
    with pytest.raises(
        errors.UserError,
        match=r"^building failed: a.c:1: error: no semicolon \(all of it: .*/log\)$",
    ):
        command.run(
            [
                "sh",
                "-c",
                "echo '  CC utxferror.o'; echo 'a.c:1: error: no semicolon'; echo 'make: *** [a.o] Error 1'; exit 2",
            ],
            "building",
            log=tmp_path / "log",
        )
    assert (tmp_path / "log").read_text().count("\n") == 3


def test_missing_program() -> None:
    with pytest.raises(errors.UserError, match="no-such-program is missing: run 'make setup'"):
        command.run(["no-such-program"], "x")
