# SPDX-License-Identifier: GPL-2.0
"""The folder series/: its topics in order, and their patches.

Each folder of series/ is a topic with patches 0001-* and up. The file series/stack lists the
topics. Each applies on top of the one listed before it.
"""

from pathlib import Path

from harness.core import ROOT, UserError

SERIES = ROOT / "series"


def list_topics(series: Path = SERIES) -> list[Path]:
    """Return the topics' folders in the order of series/stack, the lowest first.

    Raises UserError when series/stack is missing, lists no topic or one topic twice, or does not
    list a folder with patches.
    """
    stack = series / "stack"
    if not stack.exists():
        raise UserError(
            f"{stack} is missing: list the topics in it, one per line, the lowest first"
        )
    names = [
        line.strip()
        for line in stack.read_text().splitlines()
        if line.strip() and not line.startswith("#")
    ]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UserError(f"{stack} lists {twice[0]} twice: remove one of the lines")
    found = {patch.parent.name for patch in series.glob("*/[0-9]*.patch")}
    if not names:
        raise UserError(f"{stack} lists no topic: add a line for each folder with patches")
    if left := sorted(found - set(names)):
        raise UserError(f"{series / left[0]} has patches but {stack} does not list it: add a line")
    return [series / name for name in names]


def list_files(topic: Path) -> list[Path]:
    """Return a topic's patches in order, without its cover letter."""
    return sorted(
        patch for patch in topic.glob("[0-9]*.patch") if not patch.name.startswith("0000-")
    )


def name_branch(topic: Path, last: Path) -> str:
    """Return the name of the branch that marks the end of a topic."""
    return "series" if topic == last else f"topic/{topic.name}"
