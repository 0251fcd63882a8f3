# SPDX-License-Identifier: GPL-2.0
"""The programs for a guest of another architecture."""

import shutil
from pathlib import Path

import pytest

from harness.core import errors
from harness.vm import userland


def test_libraries_of_a_program(tmp_path: Path) -> None:
    program = Path(shutil.copy("/bin/true", tmp_path))
    with pytest.raises(
        errors.UserError, match=r"libc\.so\.6, which true needs, is in none of the packages"
    ):
        userland.collect_needed(tmp_path, program)
    (tmp_path / "usr/lib/triplet").mkdir(parents=True)
    (tmp_path / "usr/lib/triplet/libc.so.6").write_bytes(program.read_bytes())
    (tmp_path / "usr/lib/triplet/ld-linux-x86-64.so.2").write_bytes(program.read_bytes())
    assert userland.collect_needed(tmp_path, program)["lib/libc.so.6"] == program.read_bytes()
