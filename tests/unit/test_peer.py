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


@pytest.mark.parametrize("form", ["stack", "mbox"])
def test_form(prepare: Prepare, proposal: Path, toy: Path, form: str) -> None:
    """Topics in the order of the stack, not of the names; one file with all mails."""
    patches = sorted(proposal.iterdir())
    if form == "mbox":
        named = proposal.parent / "v2.mbox"
        named.write_text("".join(patch.read_text() for patch in patches))
    else:
        named = proposal
        for patch, topic in zip(patches, ("a", "z", "a"), strict=True):
            (proposal / topic).mkdir(exist_ok=True)
            patch.rename(proposal / topic / patch.name)
        (proposal / "stack").write_text("# the lowest first\nz\na\n")
    assert is_head(prepare(named), toy)


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


def test_no_such_function(prepare: Prepare, toy: Path) -> None:
    (toy / "mm/mm_init.c").write_text("int x;\n")
    command.git(toy, "commit", "-q", "-a", "-m", "mm: drop it")
    with pytest.raises(
        errors.UserError,
        match=r"PEER=HEAD has no memmap_init_zone_device\(\) in mm/mm_init.c: name a kernel",
    ):
        prepare("HEAD")
