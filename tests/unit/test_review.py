# SPDX-License-Identifier: GPL-2.0
"""Each check of `make review` finds what a patch adds and only that, or says that it cannot run."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.core import command, debian, errors, options
from harness.kernel import patches, source, topics, tree
from review import backport, builds, cocci, run, verdict

Patch = Callable[[dict[str, str]], patches.Patch]
UNQUOTED = "{}: note: Double quote to prevent globbing and word splitting. [SC2086]"
# A base that has findings of its own.
BASE = {
    "MAINTAINERS": (
        "Maintainers List\n----------------\n\n"
        "MM\nM:\tA <a@example.org>\nL:\tlist@example.org\nS:\tMaintained\nF:\tmm/\n\n"
        "THE REST\nM:\tR <r@example.org>\nL:\trest@example.org\n"
        "S:\tBuried alive in reporters\nF:\t*\nF:\t*/\n"
    ),
    "mm/x.c": (
        "// SPDX-License-Identifier: GPL-2.0\n#include <a.h>\n#include <a.h>\n\n"
        "/**\n * old() - without its argument\n */\nvoid old(int a)\n{\n}\n"
    ),
    "mm/run.sh": "#!/bin/sh\n# SPDX-License-Identifier: GPL-2.0\necho $1\n",
}


@pytest.fixture
def patch(tmp_path: Path, trees: tree.Trees) -> Patch:
    """Return a function that commits changes on top of BASE and returns them as a Patch.

    The kernel's own scripts are in the repository too.
    """
    repository = tmp_path / "worktrees/base"
    repository.mkdir(parents=True)
    command.git(repository, "init", "-q")

    def commit(files: dict[str, str], message: str) -> str:
        for name, text in files.items():
            (repository / name).parent.mkdir(exist_ok=True)
            (repository / name).write_text(text)
        command.git(repository, "add", "-A")
        command.git(repository, "commit", "-q", "-m", message)
        return command.git(repository, "rev-parse", "HEAD")

    base = commit(BASE, "base")
    for tools in ("scripts", "tools"):
        (repository / tools).symlink_to(trees.base / tools)
        with (repository / ".git/info/exclude").open("a") as exclude:
            print(tools, file=exclude)

    def add(files: dict[str, str]) -> patches.Patch:
        made = commit(files, "mm: change")
        mail = command.git(repository, "format-patch", "-1", "-o", tmp_path / "topic", made)
        return patches.Patch(Path(mail), made, base)

    return add


def changed(name: str, old: str, new: str) -> dict[str, str]:
    assert old in BASE[name]
    return {name: BASE[name].replace(old, new)}


@pytest.mark.parametrize(
    "check, files, found",
    [
        (
            "white space",
            changed("mm/x.c", "{\n", "{\n\tint x; \n"),
            ["mm/x.c:10: trailing whitespace.", "+\tint x; "],
        ),
        ("white space", changed("mm/x.c", "{\n", "{\n\tint x;\n"), []),
        (
            "kernel-doc",
            changed(
                "mm/x.c",
                "}\n",
                "}\n\n/**\n * new() - without its argument\n */\nvoid new(int b)\n{\n}\n",
            ),
            ["Warning: mm/x.c function parameter 'b' not described in 'new'"],
        ),
        ("kernel-doc", changed("mm/x.c", "// SPDX", "\n\n// SPDX"), []),
        (
            "includecheck",
            changed("mm/x.c", "\n\n", "\n#include <b.h>\n#include <b.h>\n\n"),
            ["mm/x.c: b.h is included more than once."],
        ),
        ("includecheck", changed("mm/x.c", "\n\n", "\n#include <b.h>\n\n"), []),
        (
            "shellcheck",
            changed("mm/run.sh", "echo", "cat $2\necho"),
            [UNQUOTED.format("mm/run.sh")],
        ),
        ("shellcheck", changed("mm/run.sh", "echo", "\n\necho"), []),
        ("shellcheck", {"mm/other": "#!/bin/bash\nls $1\n"}, [UNQUOTED.format("mm/other")]),
        (
            "MAINTAINERS",
            {"lib/new.c": "int x;\n"},
            ["lib/new.c is not in any section of MAINTAINERS"],
        ),
        ("MAINTAINERS", {"mm/new.c": "int x;\n"}, []),
        (
            "MAINTAINERS",
            {
                "lib/new.c": "int x;\n",
                **changed("MAINTAINERS", "F:\tmm/\n", "F:\tlib/new.c\nF:\tmm/\n"),
            },
            [],
        ),
    ],
)
def test_files(
    patch: Patch, tmp_path: Path, check: str, files: dict[str, str], found: list[str]
) -> None:
    assert run.FILES[check](tmp_path / "worktrees", patch(files)).findings == found


def test_tool_that_fails(patch: Patch, tmp_path: Path) -> None:
    made = patch(changed("mm/x.c", "{\n", "{\n\tint y;\n"))
    (tmp_path / "worktrees/base/scripts").unlink()
    with pytest.raises(errors.UserError, match="status|missing"):
        run.FILES["kernel-doc"](tmp_path / "worktrees", made)


def test_missing_tool_is_named(
    patch: Patch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = patch(changed("mm/run.sh", "echo", "cat\necho"))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").symlink_to("/usr/bin/git")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(
        errors.UserError, match="shellcheck is missing: run 'make review', which installs it"
    ):
        run.FILES["shellcheck"](tmp_path / "worktrees", made)


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
        table.end()
    else:
        with pytest.raises(errors.UserError, match="the review has 2 findings: fix them"):
            table.end()
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


def test_moved_warnings_are_not_new() -> None:
    before = ["mm/x.c: warning: a", "mm/x.c: warning: a"]
    assert builds.compare_warnings(before, [*before]) == verdict.Verdict([], "2 -> 2")
    assert builds.compare_warnings(
        before, [*before, "mm/x.c: warning: a", "mm/y.c: warning: b"]
    ) == verdict.Verdict(["mm/x.c: warning: a", "mm/y.c: warning: b"], "2 -> 4")


def test_semantic_patch(tmp_path: Path) -> None:
    (tmp_path / "include/linux").mkdir(parents=True)
    (tmp_path / "include/linux/kconfig.h").touch()
    (tmp_path / "x.c").write_text("void f(void)\n{\n\told(1);\n}\n")
    rule = tmp_path / "old.cocci"
    text = (
        "virtual report\n\n@r@\nposition p;\n@@\nold@p(...)\n\n"
        "@script:python depends on report@\np << r.p;\n@@\n"
        "coccilib.report.print_report(p[0], 'WARNING: old()')\n"
    )
    rule.write_text(text)
    assert cocci.run_spatch(tmp_path, rule, "x.c") == ["x.c: WARNING: old()"]
    rule.write_text(text.replace("old@p", "new@p"))
    assert cocci.run_spatch(tmp_path, rule, "x.c") == []
    rule.write_text("virtual report\n\n@r@\nposition p\n@@\n")
    with pytest.raises(errors.UserError, match="spatch"):
        cocci.run_spatch(tmp_path, rule, "x.c")


def test_patch_that_the_older_kernel_does_not_take(
    toy: Path, toy_series: Path, tmp_path: Path
) -> None:
    [one] = topics.list_files(toy_series / "b")
    command.git(toy, "checkout", "-q", "v7.3-rc7")
    whole = (toy / "mm.c").read_text()
    for old, new, expected in (
        ("line 15;", "line 15;", []),
        ("line 12;", "line of 12;", ["0001"]),
        (
            "line 15;",
            "line of 15;",
            "0001-mm-improve-line-15.patch does not apply, even with git am -3: conflict in mm.c",
        ),
    ):
        (toy / "mm.c").write_text(whole.replace(old, new))
        command.git(toy, "commit", "-q", "--allow-empty", "-a", "-m", "older")
        if isinstance(expected, list):
            assert backport.apply_patches(toy, [patches.Patch(one, "", "")]) == expected
        else:
            with pytest.raises(errors.UserError, match=expected):
                backport.apply_patches(toy, [patches.Patch(one, "", "")])
        assert not command.git(toy, "status", "--porcelain")
        command.git(toy, "reset", "-q", "--hard", "v7.3-rc7")


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
