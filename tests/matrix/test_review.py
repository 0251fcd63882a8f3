# SPDX-License-Identifier: GPL-2.0
"""The review's tools on the series with faults: each finds its own, and nothing in the series."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.cells import compile
from harness.core import command
from harness.kernel import configs, tree
from review import scripts
from support import Builder, need

SHELL = "#!/bin/sh\n# SPDX-License-Identifier: GPL-2.0\necho $1\n"
# Behind mm/mm_init.c. gcc knows of the unused variable with W=1, sparse of the undeclared one.
CODE = """
#include <linux/init.h>
/**
 * zdm_seeded() - abandonned, without its argument
 */
static void zdm_seeded(int b)
{
}
static int zdm_unused;
int zdm_undeclared;
"""
FOUND = {
    "kernel-doc": ["Warning: mm/mm_init.c function parameter 'b' not described in 'zdm_seeded'"],
    "includecheck": ["mm/mm_init.c: linux/init.h is included more than once."],
    "shellcheck": [
        "tools/testing/selftests/mm/zdm.sh: note: "
        "Double quote to prevent globbing and word splitting. [SC2086]"
    ],
}


# What the tools need of the kernel, besides the files that the series touches.
TOOLS = ("MAINTAINERS", "scripts", "tools")


@pytest.fixture(scope="module")
def faulty(builder: Builder) -> Iterator[tree.Trees]:
    """The series, and a commit with a fault for each tool on top."""
    base = builder.trees.base
    with tree.open_scratch(base, base.parent / "faulty") as series:
        command.git(series, "checkout", "-q", "--detach", "series")
        touched = command.git(series, "diff", "--name-only", "base", "HEAD").split()
        command.git(series, "sparse-checkout", "set", "--no-cone", *TOOLS, *touched)
        with (series / "mm/mm_init.c").open("a") as file:
            file.write(CODE)
        (series / "tools/testing/selftests/mm/zdm.sh").write_text(SHELL)
        (series / "zdm.txt").write_text("Nobody maintains this.\n")
        # Debian's source ignores most files.
        command.git(series, "add", "-A", "-f", "--sparse")
        command.git(series, "commit", "-q", "-m", "mm: change\n\nWhy this is done.")
        yield tree.Trees(base, series)


def test_checkpatch(faulty: tree.Trees, tmp_path: Path) -> None:
    """A word that only codespell knows."""
    mail = Path(command.git(faulty.series, "format-patch", "-1", "-o", tmp_path / "topic"))
    complaints = scripts.run_checkpatch(faulty.base, mail)
    assert [line for line in complaints if "TYPO_SPELLING: 'abandonned'" in line]


@pytest.mark.parametrize("tool", FOUND)
def test_files(faulty: tree.Trees, tool: str) -> None:
    assert scripts.check_files(faulty, tool) == FOUND[tool]


def test_maintainers(faulty: tree.Trees) -> None:
    assert scripts.check_maintainers(faulty) == ["zdm.txt is not in any section of MAINTAINERS"]


@pytest.mark.full
def test_objects(builder: Builder, faulty: tree.Trees) -> None:
    need([] if scripts.has_sparse(builder.trees.base) else ["a sparse that the kernel accepts"])
    # For what runs behind it, too.
    command.git(faulty.series, "sparse-checkout", "disable")
    trees = tree.Trees(builder.trees.series, faulty.series)
    complaints = scripts.check_objects(builder.options, trees)
    assert len(complaints) == 3
    for fault in (
        "zdm_seeded. defined but not used",
        "zdm_unused. defined but not used",
        "symbol .zdm_undeclared. was not declared",
    ):
        assert [line for line in complaints if re.search(fault, line)]


def test_each_touched_suite_runs_at_each_patch(builder: Builder) -> None:
    names = {Path(name).stem for name in compile.list_touched(builder.trees, "*_kunit.c")}
    assert names == {f"{suite.name}_kunit" for suite in configs.SUITES}
