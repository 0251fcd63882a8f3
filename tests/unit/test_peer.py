# SPDX-License-Identifier: GPL-2.0
"""The peer on a toy kernel: whatever PEER= names becomes a worktree, or one line says why not."""

import dataclasses
from pathlib import Path

import pytest

from harness.core import command, errors, options
from harness.kernel import peer, source

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
def worktrees(proposal: Path, toy_options: options.Options) -> Path:
    """The folder with the toy as base/."""
    return source.prepare_source(toy_options)


def prepare(chosen: options.Options, worktrees: Path, named: Path | str) -> Path:
    made = peer.prepare_peer(dataclasses.replace(chosen, peer=str(named)), worktrees)
    assert made == worktrees / "peer"
    return made


def is_head(made: Path, toy: Path) -> bool:
    return command.git(made, "rev-parse", "HEAD^{tree}") == command.git(
        toy, "rev-parse", "HEAD^{tree}"
    )


def test_no_peer(toy_options: options.Options, worktrees: Path) -> None:
    assert peer.prepare_peer(toy_options, worktrees) is None


def test_folder(toy_options: options.Options, worktrees: Path, proposal: Path, toy: Path) -> None:
    assert len(list(proposal.iterdir())) == 3
    assert is_head(prepare(toy_options, worktrees, proposal), toy)


@pytest.mark.parametrize("stack", ["", "# the lowest first\nz\na\n"])
def test_topics(
    toy_options: options.Options, worktrees: Path, proposal: Path, toy: Path, stack: str
) -> None:
    """In the order of the stack, or else of the names."""
    for number, topic in enumerate(("z", "a") if stack else ("a", "b"), 1):
        (proposal / topic).mkdir()
        [patch] = proposal.glob(f"000{number}-*")
        patch.rename(proposal / topic / "0001-step.patch")
    (proposal / "0000-cover-letter.patch").rename(proposal / "a/0000-cover-letter.patch")
    if stack:
        (proposal / "stack").write_text(stack)
    assert is_head(prepare(toy_options, worktrees, proposal), toy)


@pytest.mark.parametrize("whole", [True, False])
def test_mbox(
    toy_options: options.Options, worktrees: Path, proposal: Path, toy: Path, whole: bool
) -> None:
    mbox = proposal.parent / "mails/v2.mbox"
    mbox.parent.mkdir()
    mbox.write_text("".join(patch.read_text() for patch in sorted(proposal.iterdir())))
    assert is_head(prepare(toy_options, worktrees, mbox.parent if whole else mbox), toy)


@pytest.mark.parametrize("name", ["HEAD", "main", "HEAD~0"])
def test_commit_of_the_clone(
    toy_options: options.Options, worktrees: Path, toy: Path, name: str
) -> None:
    assert is_head(prepare(toy_options, worktrees, name), toy)


def test_commit_of_the_base(toy_options: options.Options, worktrees: Path) -> None:
    alone = dataclasses.replace(toy_options, linux=None)
    assert (prepare(alone, worktrees, "base") / "mm/mm_init.c").read_text() == CODE


def test_unchanged_peer_is_left_alone(
    toy_options: options.Options, worktrees: Path, proposal: Path
) -> None:
    """What was built of it need not be built again."""
    made = prepare(toy_options, worktrees, proposal)
    before = command.git(made, "rev-parse", "HEAD"), (made / "mm/mm_init.c").stat().st_mtime_ns
    prepare(toy_options, worktrees, proposal)
    after = command.git(made, "rev-parse", "HEAD"), (made / "mm/mm_init.c").stat().st_mtime_ns
    assert after == before
    assert not (worktrees / "peer.tmp").exists()


def test_changed_peer_is_applied_anew(
    toy_options: options.Options, worktrees: Path, proposal: Path
) -> None:
    prepare(toy_options, worktrees, proposal)
    patch = proposal / "0001-mm-step-1.patch"
    patch.write_text(patch.read_text().replace("+\tfirst();", "+\tother();"))
    (proposal / "0002-mm-step-2.patch").unlink()
    assert "other" in (prepare(toy_options, worktrees, proposal) / "mm/mm_init.c").read_text()


def test_names_nothing(toy_options: options.Options, worktrees: Path, toy: Path) -> None:
    with pytest.raises(
        errors.UserError,
        match=f"PEER=nowhere is not a folder of patches, an mbox or a commit of LINUX={toy}: name",
    ):
        prepare(toy_options, worktrees, "nowhere")
    with pytest.raises(errors.UserError, match="a commit of the base, and LINUX= is not set"):
        prepare(dataclasses.replace(toy_options, linux=None), worktrees, "HEAD~9")


def test_no_patches(toy_options: options.Options, worktrees: Path, proposal: Path) -> None:
    for patch in proposal.glob("000[12]*"):
        patch.unlink()
    with pytest.raises(errors.UserError, match=f"PEER={proposal} holds no patches: put there"):
        prepare(toy_options, worktrees, proposal)


@pytest.mark.parametrize("joined", [False, True])
def test_patch_that_does_not_apply(
    toy_options: options.Options, worktrees: Path, proposal: Path, joined: bool
) -> None:
    bad = proposal / "0002-mm-step-2.patch"
    bad.write_text(bad.read_text().replace(" \tfill();", " \tspill();"))
    if joined:
        text = "".join(patch.read_text() for patch in sorted(proposal.iterdir()))
        for patch in proposal.iterdir():
            patch.unlink()
        (proposal / "all.mbox").write_text(text)
    name = "all.mbox, mail 3" if joined else bad.name
    with pytest.raises(
        errors.UserError,
        match=f"PEER={proposal}: {name} does not apply at mm/mm_init.c: rebase it on the base, or",
    ):
        prepare(toy_options, worktrees, proposal)
    assert not (worktrees / "peer.tmp").exists()


@pytest.mark.parametrize("commit", ["v7.3-rc7~1", "HEAD"])
def test_no_such_function(
    toy_options: options.Options, worktrees: Path, toy: Path, commit: str
) -> None:
    """Without the file, and with the file but not the function."""
    (toy / "mm/mm_init.c").write_text("int x;\n")
    command.git(toy, "commit", "-q", "-a", "-m", "mm: drop it")
    with pytest.raises(
        errors.UserError,
        match=rf"PEER={commit} has no memmap_init_zone_device\(\) in mm/mm_init.c: name a kernel",
    ):
        prepare(toy_options, worktrees, commit)


def test_error_quotes_the_series() -> None:
    """And not the peer, whose differences are told in small letters."""
    said = "echo differs type=1; echo DIFFERS type=2; false"
    with pytest.raises(errors.UserError, match="comparing failed: DIFFERS type=2"):
        command.run(["sh", "-c", said], "comparing")
