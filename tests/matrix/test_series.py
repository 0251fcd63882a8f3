# SPDX-License-Identifier: GPL-2.0
"""The patches in series/, as mail and as commits on the base; test_review.py has their files."""

import shutil
from concurrent.futures import Future
from pathlib import Path

import pytest

from harness.core import command, folders
from harness.kernel import export, source, topics
from review import scripts
from support import PATCHES, Builder, name_of, start_all

EXPORTED_FROM = "7.3.4"


@pytest.fixture(scope="module")
def complaints(builder: Builder, request: pytest.FixtureRequest) -> dict[Path, "Future[list[str]]"]:
    return start_all(
        request, "test_checkpatch", lambda patch: scripts.run_checkpatch(builder.trees.base, patch)
    )


@pytest.mark.parametrize("patch", PATCHES, ids=name_of)
def test_checkpatch(patch: Path, complaints: dict[Path, "Future[list[str]]"]) -> None:
    assert complaints[patch].result() == []


def test_round_trip(builder: Builder, tmp_path: Path) -> None:
    """An export gives the bytes of series/, but for line numbers and blob ids on a later 7.3.y."""
    shutil.copytree(folders.ROOT / "series", tmp_path / "series")
    export.export_topics(builder.trees.series, topics.list_topics(tmp_path / "series"))
    version = source.read_version((builder.trees.base / "Makefile").read_text())
    moved = ("-I", "^index ", "-I", "^@@ ") if version != EXPORTED_FROM else ()
    words = ("diff", "-r", *moved, folders.ROOT / "series", tmp_path / "series")
    assert command.run(words, "diff", fine=(0, 1)) == ""
