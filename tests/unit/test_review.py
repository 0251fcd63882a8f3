# SPDX-License-Identifier: GPL-2.0
"""Each check of `make review` finds what a patch adds and only that, or says that it cannot run."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.core import command, debian, errors, options
from harness.kernel import patches, source, topics, tree
from review import backport, builds, run, verdict


def fault() -> verdict.Verdict:
    raise errors.UserError("the kernel does not build", ["x.c: error"])


def skip() -> verdict.Verdict:
    raise verdict.Skip("no such tool here")


@pytest.mark.parametrize(
    "outcomes, summary, passes",
    [
        ([verdict.Verdict, verdict.Verdict], "2 checks: 2 ok, 0 with 0 findings, 0 skipped", True),
        (
            [verdict.Verdict, lambda: verdict.Verdict(["a", "b"])],
            "2 checks: 1 ok, 1 with 2 findings, 0 skipped",
            False,
        ),
        ([fault, verdict.Verdict], "2 checks: 1 ok, 1 with 2 findings, 0 skipped", False),
        ([skip, verdict.Verdict], "2 checks: 1 ok, 0 with 0 findings, 1 skipped", True),
    ],
)
def test_summary(
    outcomes: list[Callable[[], verdict.Verdict]],
    summary: str,
    passes: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = run.Table()
    for number, outcome in enumerate(outcomes):
        table.check(f"topic/{number}", "check", outcome)
    if passes:
        table.print_summary()
    else:
        with pytest.raises(errors.UserError, match="the review has 2 findings: fix them"):
            table.print_summary()
    said = capsys.readouterr().out
    assert summary in said
    if fault in outcomes:
        assert re.search(
            r"topic/0 +check +FOUND 2\n"
            r" +could not be checked: the kernel does not build\n +x.c: error\n",
            said,
        )
    if skip in outcomes:
        assert re.search(r"topic/0 +check +SKIPPED: no such tool here\n", said) and re.search(
            r"^skipped: topic/0 +check +no such tool here$", said, re.M
        )


def test_results_are_kept_but_no_faults(tmp_path: Path) -> None:
    made = []

    def make() -> int:
        made.append(1)
        return len(made)

    assert [
        verdict.keep_result(tmp_path, "x", parts, make) for parts in (["a"], ["a"], ["b"], ["a"])
    ] == [1, 1, 2, 1]
    with pytest.raises(errors.UserError):
        verdict.keep_result(tmp_path, "x", ["c"], fault)
    assert verdict.keep_result(tmp_path, "x", ["c"], make) == 3
    assert len(list(tmp_path.iterdir())) == 3


def test_results_are_kept_by_the_version_of_a_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool, made = tmp_path / "tool", []
    for version in ("1", "1", "2"):
        tool.write_text(f"#!/bin/sh\necho version {version}\n")
        tool.chmod(0o755)
        verdict.ask_version.cache_clear()
        verdict.keep_result(tmp_path, "x", [], lambda: made.append(version), [str(tool)])
    assert made == ["1", "2"]


def test_moved_warnings_are_not_new() -> None:
    before = ["mm/x.c: warning: a", "mm/x.c: warning: a"]
    assert builds.compare_warnings(before, [*before]) == verdict.Verdict([], "2 -> 2")
    assert builds.compare_warnings(
        before, [*before, "mm/x.c: warning: a", "mm/y.c: warning: b"]
    ) == verdict.Verdict(["mm/x.c: warning: a", "mm/y.c: warning: b"], "2 -> 4")


@pytest.mark.parametrize(
    ("old", "new", "applies"),
    [
        ("line 15;", "line 15;", True),
        ("line 12;", "line of 12;", True),
        ("line 15;", "line of 15;", False),
    ],
)
def test_patch_that_the_older_kernel_does_not_take(
    toy: Path, toy_series: Path, old: str, new: str, applies: bool
) -> None:
    one = topics.list_files(toy_series / "b")
    command.git(toy, "checkout", "-q", "v7.3-rc7")
    (toy / "mm.c").write_text((toy / "mm.c").read_text().replace(old, new))
    command.git(toy, "commit", "-q", "--allow-empty", "-a", "-m", "older")
    if applies:
        backport.apply_patches(toy, one)
        assert "better 15;" in (toy / "mm.c").read_text()
    else:
        told = f"^{one[0].name} does not apply, even with git am -3: conflict in mm.c$"
        with pytest.raises(errors.UserError, match=told):
            backport.apply_patches(toy, one)
    assert not command.git(toy, "status", "--porcelain")


def test_older_kernel_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> None:
        raise debian.NotOffered(
            "no Debian archive in apt's sources offers linux-source-7.2: check the network"
        )

    monkeypatch.setattr(source, "unpack_package", gone)
    with pytest.raises(verdict.Skip, match="offers linux-source-7.2"):
        backport.prepare_stable(options.read_options({"BUILD": str(tmp_path)}))


def test_walk(toy_options: options.Options, toy_series: Path) -> None:
    """The worktree checks out each commit, and writes only the files that differ."""
    worktrees = tree.apply_series(toy_options, toy_series).base.parent
    walked = patches.list_patches(worktrees, toy_series)
    assert [one.name for one in walked] == ["a/0001", "a/0002", "b/0001"]
    assert [one.parent for one in walked[1:]] == [one.commit for one in walked[:-1]]
    for one, line in zip(walked, ("better 3;", "better 9;", "better 15;"), strict=True):
        where = patches.checkout_commit(worktrees, one.commit)
        assert line in (where / "mm.c").read_text()
    before = (where / "Makefile").stat().st_mtime_ns
    (where / "mm.c").write_text("left by somebody")
    (worktrees / "base/.git/worktrees/step/index.lock").touch()
    where = patches.checkout_commit(worktrees, walked[0].commit)
    assert "better 3;" in (where / "mm.c").read_text()
    assert (where / "Makefile").stat().st_mtime_ns == before


def test_what_a_kernel_is_not_built_from(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    command.git(base, "init", "-q")
    codes = {}
    for name in (
        "mm/x.c",
        "tools/objtool/x.c",
        "Documentation/mm.rst",
        "MAINTAINERS",
        "tools/testing/x.c",
        "tools/objtool/y.c",
        "Makefile",
    ):
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text(name)
        command.git(base, "add", ".")
        command.git(base, "commit", "-q", "-m", name)
        if (base / "tools").exists():
            codes[name] = builds.digest_code(tmp_path, "HEAD")
    assert (
        codes["tools/objtool/x.c"]
        == codes["Documentation/mm.rst"]
        == codes["MAINTAINERS"]
        == codes["tools/testing/x.c"]
    )
    assert len(set(codes.values())) == 3
