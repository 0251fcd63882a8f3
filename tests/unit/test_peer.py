# SPDX-License-Identifier: GPL-2.0
"""The peer on a toy kernel: whatever PEER= names becomes a worktree, or one line says why not."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.core import command, errors, options
from harness.kernel import peer, source

Prepare = Callable[..., Path]


@pytest.fixture
def prepare(toy_options: options.Options) -> Prepare:
    """Prepare the peer that is named, beside the toy as base/; without a name there is none."""
    worktrees = source.prepare_source(toy_options)
    assert peer.prepare_peer(toy_options, worktrees) is None

    def call(named: Path | str, linux: Path | None = toy_options.linux) -> Path:
        chosen = dataclasses.replace(toy_options, peer=str(named), linux=linux)
        tree = peer.prepare_peer(chosen, worktrees)
        assert tree == worktrees / "peer"
        return tree

    return call


def is_commit(tree: Path, toy: Path, commit: str) -> bool:
    return command.git(tree, "rev-parse", "HEAD^{tree}") == command.git(
        toy, "rev-parse", f"{commit}^{{tree}}"
    )


def test_folder(prepare: Prepare, toy_series: Path, toy: Path) -> None:
    """With a cover letter. What was built of it need not be built again if it has not changed."""
    states = []
    for _ in range(2):
        tree = prepare(toy_series / "a")
        assert is_commit(tree, toy, "HEAD~1") and not tree.with_name("peer.tmp").exists()
        states.append((command.git(tree, "rev-parse", "HEAD"), (tree / "mm.c").stat().st_mtime_ns))
    assert states[0] == states[1]


def test_stack(prepare: Prepare, toy_series: Path, toy: Path) -> None:
    """Topics in the order of the stack, not of the names."""
    (toy_series / "b").rename(toy_series / "0")
    (toy_series / "stack").write_text("# the lowest first\na\n0\n")
    assert is_commit(prepare(toy_series), toy, "HEAD")


def test_mbox(prepare: Prepare, toy_series: Path, toy: Path) -> None:
    mails = toy_series / "v2.mbox"
    mails.write_text("".join(mail.read_text() for mail in sorted((toy_series / "a").iterdir())))
    assert is_commit(prepare(mails), toy, "HEAD~1")


def test_commit(prepare: Prepare, toy: Path) -> None:
    """A branch of the clone, or what the base has, which another peer replaces."""
    assert is_commit(prepare("main"), toy, "HEAD")
    assert is_commit(prepare("base", linux=None), toy, "v7.3-rc7")


def test_names_nothing(prepare: Prepare, toy: Path) -> None:
    with pytest.raises(
        errors.UserError,
        match=f"PEER=nowhere is not a folder of patches, an mbox or a commit of LINUX={toy}: name",
    ):
        prepare("nowhere")


def test_no_such_function(prepare: Prepare, toy: Path) -> None:
    (toy / "mm/mm_init.c").write_text("int x;\n")
    command.git(toy, "commit", "-q", "-a", "-m", "mm: drop it")
    with pytest.raises(
        errors.UserError,
        match=r"PEER=HEAD has no memmap_init_zone_device\(\) in mm/mm_init.c: name a kernel",
    ):
        prepare("HEAD")
