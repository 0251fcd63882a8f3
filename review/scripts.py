# SPDX-License-Identifier: GPL-2.0
"""Run the kernel's scripts and similar tools over the files of a patch, before and after it."""

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

from checks.warnings import find_added, strip_lines
from harness.core.command import run
from harness.core.errors import UserError
from harness.kernel.patches import Patch, checkout_commit
from review import lint
from review.verdict import Verdict, ask_tool

C_FILE = (".c", ".h")
SHEBANG = re.compile(r"#!\s*/\S*\b(?:ba|da)?sh\b")
EVERYTHING = {"THE REST"}
FALSE = re.compile(
    # nd is the bus of persistent memory, /sys/bus/nd.
    r"TYPO_SPELLING: 'nd' may be misspelled"
    # memcpy_nt(), like memcpy() in fortify-string.h, asks for the sizes of its arguments. That
    # does not evaluate them.
    r"|MACRO_ARG_REUSE: Macro argument reuse '(?:dst|src)'"
)


def run_checkpatch(base: Path, file: Path, *more: str) -> list[str]:
    """Return what the base's checkpatch.pl --strict --codespell says about a patch or cover letter.

    more are further options; with --file, it is about a source file. A missing sign-off and what
    FALSE matches are left out.
    """
    # codespell is installed for Debian's Python. checkpatch.pl would ask the first Python in PATH
    # and check no spelling if codespell is not there.
    where = "import codespell_lib, os; print(os.path.dirname(codespell_lib.__file__))"
    found = run(["/usr/bin/python3", "-c", where], "looking for codespell's dictionary").strip()
    dictionary = Path(found) / "data/dictionary.txt"
    if not dictionary.exists():
        raise UserError(f"{dictionary} is missing: run 'make tools'")
    # spdxcheck.py needs this environment's Python.
    env = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    options = [
        "--strict",
        "--codespell",
        f"--codespellfile={dictionary}",
        "--no-signoff",
        "--terse",
        "--no-summary",
        "--show-types",
        *more,
    ]
    lines = ask_tool([base / "scripts/checkpatch.pl", *options, file], base, env=env)
    return [line.removeprefix(f"{file}:") for line in lines if not FALSE.search(line)]


def run_kernel_doc(base: Path, name: str, where: Path) -> list[str]:
    """Return what kernel-doc -Wall says about a C file."""
    if not name.endswith(C_FILE):
        return []
    # kernel-doc prints some warnings twice.
    return strip_lines(
        dict.fromkeys(
            ask_tool(
                [sys.executable, "-B", base / "scripts/kernel-doc", "-none", "-Wall", name], where
            )
        )
    )


def run_checkincludes(base: Path, name: str, where: Path) -> list[str]:
    """Return the headers that a C file includes twice."""
    if not name.endswith(C_FILE):
        return []
    return [
        line
        for line in ask_tool([base / "scripts/checkincludes.pl", name], where)
        if line != "No duplicate includes found."
    ]


def run_shellcheck(base: Path, name: str, where: Path) -> list[str]:
    """Return what shellcheck says about a shell script."""
    with (where / name).open("rb") as file:
        first = file.readline().decode(errors="replace")
    return (
        strip_lines(ask_tool(["shellcheck", "-f", "gcc", name], where))
        if SHEBANG.match(first)
        else []
    )


def make_tool_check(
    tool: Callable[[Path, str, Path], list[str]],
) -> Callable[[Path, Patch], Verdict]:
    """Return a check that runs a tool over the touched files before and after a patch.

    What the tool says only after the patch is a finding.
    """

    def check(worktrees: Path, patch: Patch) -> Verdict:
        names, said = lint.list_touched(patch.patch.read_text()), []
        for commit in (patch.parent, patch.commit):
            where = checkout_commit(worktrees, commit)
            there = [name for name in names if (where / name).exists()]
            said.append([line for name in there for line in tool(worktrees / "base", name, where)])
        return Verdict(find_added(*said), f"{len(said[0])} -> {len(said[1])}")

    return check


def check_maintainers(worktrees: Path, patch: Patch) -> Verdict:
    """Find new files that only THE REST in MAINTAINERS covers, as the patch leaves that file."""
    names, found = lint.list_new(patch.patch.read_text()), []
    where = checkout_commit(worktrees, patch.commit)
    ask: list[str | Path] = [worktrees / "base/scripts/get_maintainer.pl", "--no-tree"]
    ask += [f"--mpath={where / 'MAINTAINERS'}", "--no-git", "--no-git-fallback", "--sections", "-f"]
    for name in names:
        said = run([*ask, name], f"get_maintainer.pl {name}", cwd=where)
        if {section.split("\n", 1)[0] for section in said.strip().split("\n\n")} <= EVERYTHING:
            found.append(f"{name} is not in any section of MAINTAINERS")
    return Verdict(found, f"{len(names)} new")
