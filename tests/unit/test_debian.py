# SPDX-License-Identifier: GPL-2.0
"""Debian's archives in apt's sources."""

from pathlib import Path

import pytest

from harness.core import debian, errors


@pytest.mark.parametrize(
    "name, text",
    [
        (
            "a.list",
            "deb [arch=amd64] http://mirror.example/debian stable main\ndeb http://mirror.example/other noise main\n",
        ),
        (
            "a.sources",
            "Types: deb\nURIs: http://mirror.example/debian\nSuites: stable stable-updates\nComponents: main contrib\n",
        ),
    ],
)
def test_archive_from_either_kind_of_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / name).write_text(text)
    for part in ("debian_dists_stable", "debian_dists_stable-updates", "other_dists_noise"):
        (tmp_path / f"mirror.example_{part}_main_binary-amd64_Packages").touch()
    (tmp_path / "apt.conf").write_text(
        f'Dir::Etc::sourcelist "/dev/null";\nDir::Etc::sourceparts "{tmp_path}/parts";\nDir::State::lists "{tmp_path}";\n'
    )
    monkeypatch.setenv("APT_CONFIG", str(tmp_path / "apt.conf"))
    assert [uri.rstrip("/") for uri in debian.list_archives()] == ["http://mirror.example/debian"]


def test_no_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "apt.conf").write_text(f'Dir::State::lists "{tmp_path}";\n')
    monkeypatch.setenv("APT_CONFIG", str(tmp_path / "apt.conf"))
    with pytest.raises(
        errors.UserError, match="apt has no list of a Debian archive: run 'apt-get update' as root"
    ):
        debian.list_archives()
