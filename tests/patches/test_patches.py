# SPDX-License-Identifier: GPL-2.0
"""`make review`: what reviewers and their robots would find, and `make test` does not look at."""

from pathlib import Path

import pytest
from support import MAILS, PATCHES, Lab, name_of, need

from harness.core import debian
from harness.kernel import tree
from harness.kernel.config import KernelConfig
from review import builds
from review.cocci import check_semantics
from review.scripts import run_checkpatch
from review.sparse import check_objects, has_sparse
from review.stable import check_stable

COVERS = [mail for mail in MAILS if mail not in PATCHES]


@pytest.mark.parametrize("cover", COVERS, ids=name_of)
def test_cover_letter(cover: Path, lab: Lab) -> None:
    assert run_checkpatch(lab.trees.base, cover) == []


def test_w1_and_sparse(lab: Lab) -> None:
    need([] if has_sparse(lab.trees.base) else ["a sparse that the kernel accepts"])
    assert check_objects(lab.options, lab.trees) == []


def test_coccicheck(lab: Lab) -> None:
    assert check_semantics(lab.options, lab.trees) == []


def test_stable_kernel(lab: Lab) -> None:
    try:
        assert check_stable(lab.options, lab.trees, PATCHES) == []
    except debian.NotOffered as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module", params=range(len(PATCHES)), ids=[*map(name_of, PATCHES)])
def patch(lab: Lab, request: pytest.FixtureRequest) -> tree.Patch:
    """Each patch in turn: all tests of one run before those of the next."""
    number: int = request.param
    return tree.list_patches(lab.trees.base.parent)[number]


def test_vm(lab: Lab, patch: tree.Patch) -> None:
    assert builds.check_vm(lab.options, lab.trees, patch) == []


def test_allnoconfig(lab: Lab, patch: tree.Patch) -> None:
    config = KernelConfig("allnoconfig")
    assert builds.build_folders(lab.options, lab.trees, patch, config) == []


def test_without_zone_device(lab: Lab, patch: tree.Patch) -> None:
    assert builds.check_without_zone_device(lab.options, lab.trees, patch) == []
