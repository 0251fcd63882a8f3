# SPDX-License-Identifier: GPL-2.0
"""`make review`: what reviewers and their robots would find, and `make test` does not look at."""

from pathlib import Path

import pytest

from harness.core import git
from review import builds
from review.scripts import check_objects, has_sparse, run_checkpatch
from support import MAILS, PATCHES, Builder, name_of, need

COVERS = [mail for mail in MAILS if mail not in PATCHES]


@pytest.mark.parametrize("cover", COVERS, ids=name_of)
def test_cover_letter(cover: Path, builder: Builder) -> None:
    assert run_checkpatch(builder.trees.base, cover) == []


def test_w1_and_sparse(builder: Builder) -> None:
    need([] if has_sparse(builder.trees.base) else ["a sparse that the kernel accepts"])
    assert check_objects(builder.options, builder.trees) == []


@pytest.fixture(scope="module", params=range(len(PATCHES)), ids=[*map(name_of, PATCHES)])
def commit(builder: Builder, request: pytest.FixtureRequest) -> str:
    """Each patch in turn: all tests of one run before those of the next."""
    number: int = request.param
    return git(builder.trees.series, "rev-list", "--reverse", "base..series").split()[number]


def test_vm(builder: Builder, commit: str) -> None:
    assert builds.check_vm(builder.options, builder.trees, commit) == []


def test_allnoconfig(builder: Builder, commit: str) -> None:
    assert builds.build_folders(builder.options, builder.trees, commit) == []
