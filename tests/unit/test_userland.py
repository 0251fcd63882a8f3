# SPDX-License-Identifier: GPL-2.0
"""The programs for a guest of another architecture."""

import shutil
from pathlib import Path

import pytest

from harness.core import errors, options
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


def test_new_release_of_debian_unpacks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Apt:
        def __init__(self, *_: object, arch: str) -> None:
            pass

        def find_version(self, package: str, suites: list[str]) -> None:
            fetched.extend(suites)

        def fetch_with_dependencies(self, packages: list[str]) -> list[Path]:
            return []

    fetched: list[str] = []
    monkeypatch.setattr(userland, "Apt", Apt)
    chosen = options.read_options({"BUILD": str(tmp_path), "ARCH": "arm64"})
    for release in ("bookworm", "bookworm", "trixie"):
        monkeypatch.setattr(userland, "find_codename", lambda release=release: release)
        made = userland.unpack_packages(chosen)
    assert fetched == ["bookworm", "trixie"]
    assert [*tmp_path.iterdir()] == [made]
