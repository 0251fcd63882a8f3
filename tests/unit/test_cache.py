# SPDX-License-Identifier: GPL-2.0
"""Files that appear whole or not at all, and results that are kept until an input changes."""

from pathlib import Path

import pytest

from harness.core import cache


def test_replace_keeps_the_old_one_when_the_block_fails(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made/old").touch()
    with pytest.raises(RuntimeError), cache.replace(tmp_path / "made") as new:
        new.mkdir()
        (new / "half").touch()
        raise RuntimeError
    assert [path.name for path in tmp_path.rglob("*")] == ["made", "old"]
    with cache.replace(tmp_path / "made") as new:
        new.write_text("a file now")
    assert (tmp_path / "made").read_text() == "a file now"


def test_keep(tmp_path: Path) -> None:
    built = []

    def make(new: Path) -> None:
        built.append(new)
        new.mkdir()
        (new / "part").touch()

    folders = [cache.keep(tmp_path, "x", [part], make, ["part"]) for part in ("a", "a", "b")]
    assert len(built) == 2
    assert folders[0] == folders[1] != folders[2]
    (folders[2] / "part").unlink()
    assert cache.keep(tmp_path, "x", ["b"], make, ["part"]) == folders[2]
    assert len(built) == 3
    (tmp_path / "x-y-0123456789ab").mkdir()
    cache.drop_others(folders[2])
    assert {path.name for path in tmp_path.iterdir()} == {folders[2].name, "x-y-0123456789ab"}
