# SPDX-License-Identifier: GPL-2.0
"""Run the kernel's semantic patches over the C files that the series touches.

`make coccicheck` runs each alone: without COCCI= it would end at the first that cannot be used.
"""

import re
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path

from cells.compile import list_touched
from cells.warnings import find_added, strip_lines
from harness.core import Options, announce, run
from harness.core.cache import scratch
from harness.kernel.tree import Trees

# A semantic patch may take this long over one file.
SECONDS = 120
FAILED = re.compile(r"coccicheck failed|Fatal error|exception|timeout|parse error", re.I)


def run_coccicheck(tree: Path, patch: Path, files: Path) -> list[str]:
    """Return what a semantic patch reports about the files below a folder, or why it cannot."""
    words = ["coccicheck", "MODE=report", f"COCCI={patch}", f"M={files}", "J=1"]
    words.append(f"SPFLAGS=--timeout {SECONDS}")
    said = run(["make", "-s", "-C", tree, *words], "coccicheck", fine=(0, 2)).splitlines()
    found = [line[2:] for line in said if re.match(r"\./\S+:\d+", line)]
    # A line that begins with a slash is a command.
    broken = [line for line in said if line[:1] not in (".", "/") and FAILED.search(line)]
    told = strip_lines(re.sub(r":(\d+)-\d+", r":\1", line) for line in found)
    told += [line.replace(f"{files}/", "") for line in broken[:1]]
    return [f"{patch.stem}: {line}" for line in told]


def check_semantics(options: Options, trees: Trees) -> list[str]:
    """Return what the semantic patches report about the series but not about the base.

    One that fails on both, such as with an old spatch, finds nothing.
    """
    names = list_touched(trees, "*.c", ":!tools")
    patches = [
        patch
        for patch in sorted((trees.series / "scripts/coccinelle").rglob("*.cocci"))
        if re.search(r"^virtual\s+report", patch.read_text(), re.M)
    ]
    announce(f"{len(patches)} semantic patches over {len(names)} files")
    said: list[list[str]] = []
    with scratch(options.build / "cocci.tmp") as folder, ThreadPoolExecutor(options.jobs) as pool:
        for tree in (trees.series, trees.base):
            files = folder / tree.name
            files.mkdir()
            there = [name for name in names if (tree / name).exists()]
            run(["cp", "--parents", "-t", files, *there], "copying the files", cwd=tree)
            found = pool.map(run_coccicheck, repeat(trees.series), patches, repeat(files))
            told = {patch: lines for patch, lines in zip(patches, found, strict=True) if lines}
            said.append([line for lines in told.values() for line in lines])
            # The base need only be asked about what was found.
            patches = [*told]
    after, before = said
    return find_added(before, after)
