# SPDX-License-Identifier: GPL-2.0
"""Run the kernel's scripts, sparse and the like over mails, and over the files that they touch."""

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.cells.compile import compile_both, list_touched
from harness.cells.warnings import find_added, strip_lines
from harness.core import Options, UserError, announce, git, run
from harness.kernel.configs import OBJECTS_X86_64, add_zone_device
from harness.kernel.tree import Trees

CHECKPATCH = "--strict --codespell --no-signoff --terse --no-summary --show-types"
FALSE = re.compile(
    # nd is the bus of persistent memory, /sys/bus/nd; DAMON monitors accesses to memory.
    r"TYPO_SPELLING: '(?:nd|DAMON)' may be misspelled"
    # memcpy_nt(), like memcpy() in fortify-string.h, asks for the sizes of its arguments. That
    # does not evaluate them.
    r"|MACRO_ARG_REUSE: Macro argument reuse '(?:dst|src)'"
    # A pattern of MAINTAINERS can cover a new file: check_maintainers() asks for each.
    r"|FILE_PATH_CHANGES: "
    # A function in assembly that one file calls is declared there, as its neighbours are.
    r"|AVOID_EXTERNS: "
    # Macros of page-flags.h make these names.
    r"|CAMELCASE: Avoid CamelCase: <__(?:Set|Clear)PageReserved>"
    # Debian's source has no history that would know the commits.
    r"|UNKNOWN_COMMIT_ID: "
)


def ask_tool(
    command: Sequence[str | Path], where: Path, env: dict[str, str] | None = None
) -> list[str]:
    """Return the lines of a tool that may end with status 1; Raises UserError if it cannot run."""
    output = run(command, Path(command[0]).name, fine=(0, 1), env=env, cwd=where)
    return [line for line in output.splitlines() if line.strip()]


def run_checkpatch(base: Path, file: Path, *more: str) -> list[str]:
    """Return what the base's checkpatch.pl --strict --codespell says about a patch or cover letter.

    more are further options; with --file, it is about a source file. A missing sign-off and what
    FALSE matches are left out.
    """
    # codespell is installed for Debian's Python. checkpatch.pl would ask the first Python in PATH
    # and check no spelling if codespell is not there.
    script = "import codespell_lib, os; print(os.path.dirname(codespell_lib.__file__))"
    module = run(["/usr/bin/python3", "-c", script], "looking for codespell's dictionary").strip()
    dictionary = Path(module) / "data/dictionary.txt"
    if not dictionary.exists():
        raise UserError(f"{dictionary} is missing: run 'make tools'")
    # spdxcheck.py needs this environment's Python.
    env = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command: list[str | Path] = [base / "scripts/checkpatch.pl", *CHECKPATCH.split(), *more, file]
    lines = ask_tool([*command, f"--codespellfile={dictionary}"], base, env)
    return [line.removeprefix(f"{file}:") for line in lines if not FALSE.search(line)]


# Each tool: which files it takes, and its command for one of them.
TOOLS = {
    "kernel-doc": ("*.[ch]", [sys.executable, "-B", "scripts/kernel-doc", "-none", "-Wall"]),
    "includecheck": ("*.[ch]", ["scripts/checkincludes.pl"]),
    # The script may say which files it reads, relative to itself.
    "shellcheck": ("*.sh", ["shellcheck", "--format=gcc", "-x", "--source-path=SCRIPTDIR"]),
}
CLEAN = "No duplicate includes found."


def check_files(trees: Trees, name: str) -> list[str]:
    """Return what a tool says of the files that the series touches, and does not of the base's."""
    files, command = TOOLS[name]
    names = list_touched(trees, files)
    before, after = (
        [
            line
            for name in names
            if (where / name).exists()
            # kernel-doc prints some warnings twice.
            for line in strip_lines(dict.fromkeys(ask_tool([*command, name], where)))
            if line != CLEAN
        ]
        for where in (trees.base, trees.series)
    )
    return find_added(before, after)


def check_maintainers(trees: Trees) -> list[str]:
    """Return the new files that only THE REST in MAINTAINERS covers."""
    names = git(trees.series, "diff", "--name-only", "--diff-filter=A", "base", "HEAD").split()
    ask = ["scripts/get_maintainer.pl", "--no-tree", "--no-git", "--no-git-fallback"]
    unlisted = []
    for name in names:
        sections = run(
            [*ask, "--sections", "-f", name], f"get_maintainer.pl {name}", cwd=trees.series
        )
        if {section.split("\n", 1)[0] for section in sections.strip().split("\n\n")} <= {
            "THE REST"
        }:
            unlisted.append(f"{name} is not in any section of MAINTAINERS")
    return unlisted


def has_sparse(tree: Path) -> bool:
    """Return whether a sparse is installed that the kernel accepts: Debian 12's is too old.

    With one that it rejects, make prints a warning and goes on without sparse.
    """
    check: list[str | Path] = ["sh", tree / "scripts/checker-valid.sh", "sparse"]
    return run(check, "checker-valid.sh", fine=(0, 1)).strip() == "1"


def check_objects(options: Options, trees: Trees) -> list[str]:
    """Return what gcc with W=1 and sparse say of the series' objects but not of the base's."""
    announce("checking the touched objects of base and series")
    return compile_both(options, trees, replace(add_zone_device(OBJECTS_X86_64), args=("C=1",)))[-1]
