# SPDX-License-Identifier: GPL-2.0
"""The review's tools on the real trees: each finds a fault that was put in."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cells import compile, kunit
from harness.core import command, errors
from harness.kernel import tree
from review import scripts
from support import Builder, need

Change = Callable[[dict[str, str]], tree.Trees]
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
def change(tmp_path: Path, builder: Builder) -> Change:
    """Return a function that commits changes on top of BASE and returns both worktrees.

    The kernel's own scripts are in them too.
    """
    toy = tree.Trees(tmp_path / "base", tmp_path / "series")
    toy.base.mkdir()
    command.git(toy.base, "init", "-q")
    (toy.base / ".git/info/exclude").write_text("scripts\ntools\n")

    def commit(where: Path, files: dict[str, str]) -> None:
        for tools in ("scripts", "tools"):
            (where / tools).symlink_to(builder.trees.base / tools)
        for name, text in files.items():
            (where / name).parent.mkdir(exist_ok=True)
            (where / name).write_text(text)
        command.git(where, "add", "-A")
        command.git(where, "commit", "-q", "-m", "mm: change\n\nWhy this is done.")

    commit(toy.base, BASE)
    command.git(toy.base, "tag", "base")
    command.git(toy.base, "worktree", "add", "-q", "--detach", toy.series)

    def add(files: dict[str, str]) -> tree.Trees:
        commit(toy.series, files)
        return toy

    return add


def edit(name: str, old: str, new: str) -> dict[str, str]:
    assert old in BASE[name]
    return {name: BASE[name].replace(old, new)}


@pytest.mark.parametrize(
    "line, found",
    [
        ("int y;", ""),
        ("/* abandonned, which only codespell knows: abailable */", "WARNING:TYPO_SPELLING"),
    ],
)
def test_checkpatch(
    change: Change, builder: Builder, tmp_path: Path, line: str, found: str
) -> None:
    toy = change(edit("mm/x.c", "{\n", f"{{\n\t{line}\n"))
    mail = Path(command.git(toy.series, "format-patch", "-1", "-o", tmp_path / "topic"))
    said = "\n".join(scripts.run_checkpatch(builder.trees.base, mail))
    assert found in said if found else said == ""


def test_each_touched_suite_runs_at_each_patch(builder: Builder) -> None:
    names = {Path(name).stem for name in compile.list_touched(builder.trees, "*_kunit.c")}
    assert names == {f"{suite.name}_kunit" for suite in kunit.SUITES}


def test_sparse_that_is_too_old(
    builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "sparse"
    old.write_text("#!/bin/sh\necho 'x.c:3:1: error: Expected ; at end of declaration' >&2\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert not scripts.has_sparse(builder.trees.base)


@pytest.mark.full
def test_seeded_warnings(builder: Builder) -> None:
    """One that only gcc knows, with W=1, and one that only sparse knows."""
    need([] if scripts.has_sparse(builder.trees.base) else ["a sparse that the kernel accepts"])
    step = tree.checkout_commit(builder.trees.base.parent, "series")
    with (step / "mm/mm_init.c").open("a") as file:
        file.write("\nstatic int zdm_unused;\nint zdm_undeclared;\n")
    command.git(step, "commit", "-q", "-a", "-m", "seeded")
    gcc, said = sorted(
        scripts.check_objects(builder.options, tree.Trees(builder.trees.series, step))
    )
    assert re.match("mm/mm_init.c: warning: .zdm_unused. defined but not used", gcc)
    assert said.startswith("mm/mm_init.c: warning: symbol 'zdm_undeclared' was not declared.")


NEW = "/**\n * new() - without its argument\n */\nvoid new(int b)\n{\n}\n"
UNDESCRIBED = "Warning: mm/x.c function parameter 'b' not described in 'new'"
TWICE = "mm/x.c: b.h is included more than once."
UNQUOTED = "mm/run.sh: note: Double quote to prevent globbing and word splitting. [SC2086]"


@pytest.mark.parametrize(
    "check, name, old, new, found",
    [
        ("kernel-doc", "mm/x.c", "}\n", f"}}\n\n{NEW}", [UNDESCRIBED]),
        ("kernel-doc", "mm/x.c", "// SPDX", "\n\n// SPDX", []),
        ("includecheck", "mm/x.c", "\n\n", "\n#include <b.h>\n#include <b.h>\n\n", [TWICE]),
        ("includecheck", "mm/x.c", "\n\n", "\n#include <b.h>\n\n", []),
        ("shellcheck", "mm/run.sh", "echo", "cat $2\necho", [UNQUOTED]),
        ("shellcheck", "mm/run.sh", "echo", "\n\necho", []),
    ],
)
def test_files(change: Change, check: str, name: str, old: str, new: str, found: list[str]) -> None:
    assert scripts.check_files(change(edit(name, old, new)), check) == found


@pytest.mark.parametrize(
    "files, found",
    [
        ({"lib/new.c": "int x;\n"}, ["lib/new.c is not in any section of MAINTAINERS"]),
        ({"mm/new.c": "int x;\n"}, []),
    ],
)
def test_maintainers(change: Change, files: dict[str, str], found: list[str]) -> None:
    assert scripts.check_maintainers(change(files)) == found


def test_tool_that_fails(change: Change) -> None:
    toy = change(edit("mm/x.c", "{\n", "{\n\tint y;\n"))
    (toy.series / "scripts").unlink()
    with pytest.raises(errors.UserError, match="kernel-doc"):
        scripts.check_files(toy, "kernel-doc")
