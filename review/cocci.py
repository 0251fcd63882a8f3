# SPDX-License-Identifier: GPL-2.0
"""Run the kernel's semantic patches over the C files that the series touches.

They run as in the report mode of scripts/coccicheck.
"""

import re
import shlex
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from checks.compile import list_touched
from checks.warnings import find_added, strip_lines
from harness.core.errors import UserError
from harness.core.options import Options
from harness.core.progress import announce
from harness.kernel.tree import Trees
from review.verdict import Verdict, ask_tool, keep_result

# A semantic patch may take this long over one file.
SECONDS = 120
INCLUDES = ("arch/x86/include", "include", "arch/x86/include/uapi", "include/uapi")
FAILED = re.compile(
    r"Fatal error|exception|[Tt]imeout|failed|File .*, line \d+, column|parse error|semantic error",
    re.I,
)


def run_spatch(tree: Path, patch: Path, name: str) -> list[str]:
    """Return what a semantic patch reports about a file.

    Raises UserError when one of them cannot be parsed, or when it takes longer than SECONDS.
    """
    options = re.findall(r"^//\s*Options:\s*(.*)$", patch.read_text(), re.M)
    args = [
        "-D",
        "report",
        "--no-show-diff",
        "--very-quiet",
        "--cocci-file",
        str(patch),
        *shlex.split(" ".join(options)),
    ]
    args += [arg for folder in INCLUDES for arg in ("-I", str(tree / folder))]
    said = ask_tool(
        [
            "spatch",
            *args,
            "--include",
            tree / "include/linux/kconfig.h",
            "--timeout",
            str(SECONDS),
            name,
        ],
        tree,
        (0,),
    )
    found = [line for line in said if re.match(rf"(\./)?{re.escape(name)}:\d+", line)]
    if broken := [line for line in said if line not in found and FAILED.search(line)]:
        raise UserError(f"spatch over {name}: {broken[0]}")
    return strip_lines(re.sub(r":(\d+)-\d+", r":\1", line) for line in found)


def run_coccicheck(options: Options, trees: Trees) -> Verdict:
    """Find what the semantic patches report about the series but not about the base.

    The note names those that fail on both.
    """
    names = list_touched(trees, "*.c", ":!tools")
    patches = [
        patch
        for patch in sorted((trees.series / "scripts/coccinelle").rglob("*.cocci"))
        if re.search(r"^virtual\s+report", patch.read_text(), re.M)
    ]
    announce(f"{len(patches)} semantic patches over {len(names)} files")

    def one(job: tuple[Path, str]) -> tuple[list[str], str]:
        patch, name = job
        said = keep_result(
            options.build / "review",
            "cocci",
            [
                patch.read_bytes(),
                str(patch.relative_to(trees.series)),
                name,
                (trees.series / name).read_bytes(),
            ],
            lambda: both(patch, name),
            ["spatch"],
        )
        return said["found"], said["failed"]

    def both(patch: Path, name: str) -> dict[str, Any]:
        label, before = patch.name.removesuffix(".cocci"), trees.base / name
        try:
            found = run_spatch(trees.series, patch, name)
        except UserError as error:
            other = name if before.exists() else "mm/mm_init.c"
            try:
                run_spatch(trees.base, patch, other)
            except UserError:
                return {"found": [], "failed": label}
            return {"found": [f"{label}: {error}"], "failed": ""}
        if found and before.exists():
            found = find_added(run_spatch(trees.base, patch, name), found)
        return {"found": [f"{label}: {line}" for line in found], "failed": ""}

    with ThreadPoolExecutor(options.jobs) as pool:
        said = list(pool.map(one, [(patch, name) for patch in patches for name in names]))
    failed = sorted({label for _, label in said if label})
    note = f"{len(patches)} semantic patches, {len(names)} files" + (
        f"; not usable here, nor on the base: {', '.join(failed)}" if failed else ""
    )
    return Verdict([line for found, _ in said for line in found], note)
