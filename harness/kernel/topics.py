# SPDX-License-Identifier: GPL-2.0
"""The folder series/: its topics in order, and their patches.

Each folder of series/ is a topic with patches 0001-* and up. The file series/stack lists the
topics. Each applies on top of the one listed before it.
"""

from pathlib import Path

from harness.core import ROOT, UserError

SERIES = ROOT / "series"
# On top of Li Zhe's v11 instead of the stack; see choose_stack() in tree.py.
ON_V11 = "on-v11"


def list_topics(series: Path = SERIES) -> list[Path]:
    """Return the topics' folders in the order of series/stack, the lowest first.

    Raises UserError when a folder with patches is not in series/stack.
    """
    stack = series / "stack"
    names = [
        line.strip()
        for line in stack.read_text().splitlines()
        if line.strip() and not line.startswith("#")
    ]
    folders = {patch.parent.name for patch in series.glob("*/[0-9]*.patch")}
    if left := sorted(folders - set(names) - {ON_V11}):
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
