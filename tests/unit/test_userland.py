# SPDX-License-Identifier: GPL-2.0
"""The programs for a guest of another architecture."""

from pathlib import Path

import pytest

from harness.core import options
from harness.vm import userland


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
