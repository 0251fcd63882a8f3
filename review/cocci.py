# SPDX-License-Identifier: GPL-2.0
"""Run the kernel's semantic patches over the C files that the series touches.

`make coccicheck` runs each alone: without COCCI= it would end at the first that cannot be used.
"""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from checks.compile import list_touched
from checks.warnings import find_added, strip_lines
from harness.core.cache import scratch
from harness.core.command import git, run
from harness.core.errors import UserError
from harness.core.options import Options
from harness.core.progress import announce
from harness.kernel.tree import Trees
from review.verdict import Verdict, ask_tool, keep_result

# A semantic patch may take this long over one file.
SECONDS = 120
FAILED = re.compile(r"coccicheck failed|Fatal error|exception|timeout|parse error", re.I)


def run_coccicheck(tree: Path, patch: Path, files: Path) -> list[str]:
    """Return what a semantic patch reports about the files below a folder.

    Raises UserError when it cannot be used.
    """
    words = [f"COCCI={patch}", f"M={files}", "J=1", f"SPFLAGS=--timeout {SECONDS}"]
    said = ask_tool(["make", "-s", "-C", tree, "coccicheck", "MODE=report", *words], tree, (0, 2))
    found = [line[2:] for line in said if re.match(r"\./\S+:\d+", line)]
    # A line that begins with a slash is a command.
    if broken := [line for line in said if line[0] not in "/." and FAILED.search(line)]:
        raise UserError(f"{patch.name}: {broken[0]}")
    return strip_lines(re.sub(r":(\d+)-\d+", r":\1", line) for line in found)


def extract_files(tree: Path, names: list[str], where: Path) -> Path:
    """Write those files of names that a worktree has to the folder where, and return it."""
    there = [name for name in names if (tree / name).exists()]
    where.mkdir()
    run(["cp", "--parents", "-t", where, *there], "copying the files", cwd=tree)
    return where


def check_semantics(options: Options, trees: Trees) -> Verdict:
    """Find what the semantic patches report about the series but not about the base.

    The note names those that fail on both.
    """
    names = list_touched(trees, "*.c", ":!tools")
    patches = [
        patch.relative_to(trees.series)
        for patch in sorted((trees.series / "scripts/coccinelle").rglob("*.cocci"))
        if re.search(r"^virtual\s+report", patch.read_text(), re.M)
    ]
    announce(f"{len(patches)} semantic patches over {len(names)} files")
    blobs = [git(tree, "ls-tree", "HEAD", "--", *names) for tree in (trees.base, trees.series)]

    def check(patch: Path, base: Path, series: Path) -> dict[str, Any]:
        try:
            found = run_coccicheck(trees.series, trees.series / patch, series)
        except UserError as error:
            try:
                run_coccicheck(trees.base, trees.base / patch, base)
            except UserError:
                return {"found": [], "failed": patch.stem}
            return {"found": [str(error)], "failed": ""}
        if found:
            found = find_added(run_coccicheck(trees.base, trees.base / patch, base), found)
        return {"found": [f"{patch.stem}: {line}" for line in found], "failed": ""}

    with (
        scratch(options.build / "cocci.tmp") as folder,
        ThreadPoolExecutor(options.jobs) as pool,
    ):
        base = extract_files(trees.base, names, folder / "base")
        series = extract_files(trees.series, names, folder / "series")

        def keep(patch: Path) -> dict[str, Any]:
            key: list[str | bytes] = [str(patch), (trees.series / patch).read_bytes(), *blobs]
            store = options.build / "review"
            return keep_result(store, "cocci", key, lambda: check(patch, base, series), ["spatch"])

        said = list(pool.map(keep, patches))
    failed = [one["failed"] for one in said if one["failed"]]
    note = f"{len(patches)} semantic patches, {len(names)} files" + (
        f"; not usable here, nor on the base: {', '.join(failed)}" if failed else ""
    )
    return Verdict([line for one in said for line in one["found"]], note)
