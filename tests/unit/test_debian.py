# SPDX-License-Identifier: GPL-2.0
"""The Debian archives in apt's sources."""

from pathlib import Path

import pytest

from harness.core import debian, options
from harness.kernel import config
from harness.link import first, race

LINES = "deb [arch=amd64] http://mirror.example/{} stable main\n"


def test_archive_is_debians(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser's vendor may have a suite `stable` with a component `main`, too."""

    def fill(**origins: str) -> None:
        (tmp_path / "sources.list").write_text("".join(map(LINES.format, origins)))
        for archive, origin in origins.items():
            lists = tmp_path / f"mirror.example_{archive}_dists_stable"
            Path(f"{lists}_main_binary-amd64_Packages").touch()
            release = f"Origin: {origin}\nLabel: {origin}\nSuite: stable\n"
            Path(f"{lists}_Release").write_text(release)

    (tmp_path / "apt.conf").write_text(
        f'Dir::Etc::sourcelist "{tmp_path}/sources.list";\n'
        f'Dir::Etc::sourceparts "/dev/null";\nDir::State::lists "{tmp_path}";\n'
    )
    monkeypatch.setenv("APT_CONFIG", str(tmp_path / "apt.conf"))
    fill(vendor="Vendor", debian="Debian")
    assert [uri.rstrip("/") for uri in debian.list_archives()] == ["http://mirror.example/debian"]
    fill(debian="Derivative")
    with pytest.raises(debian.NotOffered, match="apt's sources list no Debian archive"):
        debian.list_archives()


def test_system_without_the_configuration_fetches_no_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ubuntu has apt, and no such package: that is said before 160 MB are fetched."""

    def lack(_: object) -> Path:
        raise debian.NotOffered("no linux-config-7.3")

    def fetch(_: object) -> None:
        pytest.fail("the source was fetched")

    monkeypatch.setattr(config, "fetch_config", lack)
    monkeypatch.setattr(first, "apply_series", fetch)
    monkeypatch.setattr("harness.kernel.tree.apply_series", fetch)
    chosen = options.read_options({"BUILD": str(tmp_path)})
    with pytest.raises(debian.NotOffered, match="^no linux-config-7.3$"):
        first.measure_here(chosen)
    with pytest.raises(debian.NotOffered, match="^no linux-config-7.3$"):
        race.run_race(chosen, race.RACES[0])
