# SPDX-License-Identifier: GPL-2.0
"""The review's tools on the real trees: each finds a fault that was put in."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from checks import compile, kunit
from harness.core import command, errors, options
from harness.kernel import patches, tree
from review import builds, cocci, run, scripts, sparse

Patch = Callable[[dict[str, str]], patches.Patch]
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
    "line, found",
    [
        ("int y;", ""),
        ("int y; ", "ERROR:TRAILING_WHITESPACE"),
        ("if(y)", "ERROR:SPACING"),
        ("/* teh end */", "WARNING:TYPO_SPELLING"),
        ("/* abandonned, which only codespell knows: abailable */", "WARNING:TYPO_SPELLING"),
    ],
)
def test_checkpatch(patch: Patch, trees: tree.Trees, line: str, found: str) -> None:
    made = patch(changed("mm/x.c", "{\n", f"{{\n\t{line}\n"))
    made.patch.write_text(
        made.patch.read_text().replace("\n---\n", "\nWhy this is done.\n---\n", 1)
    )
    said = "\n".join(scripts.run_checkpatch(trees.base, made.patch))
    assert found in said if found else said == ""


def test_each_touched_suite_runs_at_each_patch(trees: tree.Trees) -> None:
    names = {Path(name).stem for name in compile.list_touched(trees, "*_kunit.c")}
    assert names == {f"{suite.name}_kunit" for suite in kunit.SUITES}


def test_semantic_patch(trees: tree.Trees, tmp_path: Path) -> None:
    (tmp_path / "mm").mkdir()
    (tmp_path / "mm/x.c").write_text("void f(void)\n{\n\told(1);\n}\n")
    rule = tmp_path / "old.cocci"
    text = (
        "virtual report\n\n@r@\nposition p;\n@@\nold@p(...)\n\n"
        "@script:python depends on report@\np << r.p;\n@@\n"
        "coccilib.report.print_report(p[0], 'WARNING: old()')\n"
    )
    rule.write_text(text)
    assert cocci.run_coccicheck(trees.series, rule, tmp_path) == ["mm/x.c: WARNING: old()"]
    rule.write_text(text.replace("old@p", "new@p"))
    assert cocci.run_coccicheck(trees.series, rule, tmp_path) == []
    rule.write_text("virtual report\n\n@r@\nposition p\n@@\n")
    with pytest.raises(errors.UserError, match="old.cocci: "):
        cocci.run_coccicheck(trees.series, rule, tmp_path)


def test_sparse_that_is_too_old(chosen: options.Options, trees: tree.Trees, tmp_path: Path) -> None:
    old = tmp_path / "sparse"
    old.write_text("#!/bin/sh\necho 'x.c:3:1: error: Expected ; at end of declaration' >&2\n")
    old.chmod(0o755)
    assert not sparse.is_usable(old, trees.base)
    assert sparse.is_usable(sparse.find_sparse(chosen, trees.base), trees.base)


@pytest.mark.full
@pytest.mark.parametrize(
    "text, tool, found",
    [
        (
            "static int zdm_seeded;\n",
            "gcc",
            "mm/mm_init.c: warning: .zdm_seeded. defined but not used",
        ),
        (
            "int zdm_seeded;\n",
            "sparse",
            "mm/mm_init.c: sparse: warning: symbol 'zdm_seeded' was not declared. "
            "Should it be static?",
        ),
    ],
)
def test_seeded_warning(
    chosen: options.Options, trees: tree.Trees, tmp_path: Path, text: str, tool: str, found: str
) -> None:
    base = trees.base
    whole = tmp_path / "mm_init.c"
    whole.write_text(command.git(base, "show", "series:mm/mm_init.c") + "\n" + text)
    blob = command.git(base, "hash-object", "-w", whole)
    index = {"GIT_INDEX_FILE": str(tmp_path / "index")}
    for args in (
        ["read-tree", "series"],
        ["update-index", "--cacheinfo", f"100644,{blob},mm/mm_init.c"],
    ):
        command.run(["git", "-C", base, *args], "git", env=index)
    written = command.run(["git", "-C", base, "write-tree"], "git", env=index).strip()
    seeded = command.git(base, "commit-tree", "-p", "series", "-m", "seeded", written)
    walk = builds.Builds(chosen, trees)
    made = patches.Patch(Path("seeded/0001"), seeded, command.git(base, "rev-parse", "series"))
    [finding] = run.BUILT["W=1" if tool == "gcc" else "sparse"](walk, made).findings
    assert re.match(found, finding)
    assert json.dumps(walk.compile_checked(seeded, "the seeded object"))


UNQUOTED = "{}: note: Double quote to prevent globbing and word splitting. [SC2086]"


@pytest.mark.parametrize(
    "check, files, found",
    [
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
    with pytest.raises(errors.UserError, match="kernel-doc"):
        run.FILES["kernel-doc"](tmp_path / "worktrees", made)


def test_missing_tool_is_named(
    patch: Patch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = patch(changed("mm/run.sh", "echo", "cat\necho"))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").symlink_to("/usr/bin/git")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(errors.UserError, match="shellcheck is missing: run 'make tools'"):
        run.FILES["shellcheck"](tmp_path / "worktrees", made)
