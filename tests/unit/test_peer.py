# SPDX-License-Identifier: GPL-2.0
"""The peer on a toy kernel: whatever PEER= names becomes a worktree, or one line says why not."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.core import command, errors, options
from harness.kernel import peer, source

Prepare = Callable[..., Path]
CODE = "void memmap_init_zone_device(void)\n{\n" + "\tfill();\n" * 9 + "}\n"


@pytest.fixture
def proposal(toy: Path, tmp_path: Path) -> Path:
    """A folder of two patches with a cover letter, on a base that has the function."""
    code = toy / "mm/mm_init.c"
    code.parent.mkdir()
    for number, text in enumerate((CODE, CODE.replace("{\n", "{\n\tfirst();\n"), CODE + "/* */\n")):
        code.write_text(text)
        command.git(toy, "add", ".")
        command.git(toy, "commit", "-q", "-m", f"mm: step {number}")
    command.git(toy, "tag", "-f", "v7.3-rc7", "HEAD~2")
    command.git(toy, "format-patch", "-q", "--cover-letter", "-o", tmp_path / "peer", "HEAD~2")
    return tmp_path / "peer"


@pytest.fixture
def prepare(proposal: Path, toy_options: options.Options) -> Prepare:
    """Prepare the peer that is named, beside the toy as base/; without a name there is none."""
    worktrees = source.prepare_source(toy_options)
    assert peer.prepare_peer(toy_options, worktrees) is None

    def call(named: Path | str, linux: Path | None = toy_options.linux) -> Path:
        chosen = dataclasses.replace(toy_options, peer=str(named), linux=linux)
        made = peer.prepare_peer(chosen, worktrees)
        assert made == worktrees / "peer"
        return made

    return call


def is_head(made: Path, toy: Path) -> bool:
    trees = [command.git(where, "rev-parse", "HEAD^{tree}") for where in (made, toy)]
    return trees[0] == trees[1]


def test_folder(prepare: Prepare, proposal: Path, toy: Path) -> None:
    """What was built of it need not be built again if it has not changed."""
    assert len(list(proposal.iterdir())) == 3
    states = []
    for _ in range(2):
        made = prepare(proposal)
        assert is_head(made, toy) and not made.with_name("peer.tmp").exists()
        code = made / "mm/mm_init.c"
        states.append((command.git(made, "rev-parse", "HEAD"), code.stat().st_mtime_ns))
    assert states[0] == states[1]


@pytest.mark.parametrize("stack", ["", "# the lowest first\nz\na\n"])
def test_topics(prepare: Prepare, proposal: Path, toy: Path, stack: str) -> None:
    """In the order of the stack, or else of the names."""
    for number, topic in enumerate(("z", "a") if stack else ("a", "b"), 1):
        (proposal / topic).mkdir()
        [patch] = proposal.glob(f"000{number}-*")
        patch.rename(proposal / topic / "0001-step.patch")
    (proposal / "0000-cover-letter.patch").rename(proposal / "a/0000-cover-letter.patch")
    if stack:
        (proposal / "stack").write_text(stack)
    assert is_head(prepare(proposal), toy)


@pytest.mark.parametrize("whole", [True, False])
def test_mbox(prepare: Prepare, proposal: Path, toy: Path, whole: bool) -> None:
    mbox = proposal.parent / "mails/v2.mbox"
    mbox.parent.mkdir()
    mbox.write_text("".join(patch.read_text() for patch in sorted(proposal.iterdir())))
    assert is_head(prepare(mbox.parent if whole else mbox), toy)


def test_commit(prepare: Prepare, toy: Path) -> None:
    """A branch of the clone, or what the base has, which another peer replaces."""
    assert is_head(prepare("main"), toy)
    assert (prepare("base", linux=None) / "mm/mm_init.c").read_text() == CODE


def test_names_nothing(prepare: Prepare, toy: Path) -> None:
    with pytest.raises(
        errors.UserError,
        match=f"PEER=nowhere is not a folder of patches, an mbox or a commit of LINUX={toy}: name",
    ):
        prepare("nowhere")
    with pytest.raises(errors.UserError, match="a commit of the base, and LINUX= is not set"):
        prepare("HEAD~9", linux=None)


def test_no_patches(prepare: Prepare, proposal: Path) -> None:
    for patch in proposal.glob("000[12]*"):
        patch.unlink()
    with pytest.raises(errors.UserError, match=f"PEER={proposal} holds no patches: put there"):
        prepare(proposal)


def test_patch_that_does_not_apply(prepare: Prepare, proposal: Path) -> None:
    bad = proposal / "0002-mm-step-2.patch"
    bad.write_text(bad.read_text().replace(" \tfill();", " \tspill();"))
    told = rf"PEER={proposal}: {bad.name} does not apply at mm/mm_init.c: rebase it"
    with pytest.raises(errors.UserError, match=told):
        prepare(proposal)
    assert not [*proposal.parent.glob("build/*/peer.tmp")]


@pytest.mark.parametrize("commit", ["v7.3-rc7~1", "HEAD"])
def test_no_such_function(prepare: Prepare, toy: Path, commit: str) -> None:
    """Without the file, and with the file but not the function."""
    (toy / "mm/mm_init.c").write_text("int x;\n")
    command.git(toy, "commit", "-q", "-a", "-m", "mm: drop it")
    with pytest.raises(
        errors.UserError,
        match=rf"PEER={commit} has no memmap_init_zone_device\(\) in mm/mm_init.c: name a kernel",
    ):
        prepare(commit)
