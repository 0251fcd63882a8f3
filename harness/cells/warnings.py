# SPDX-License-Identifier: GPL-2.0
"""The messages of compilers and checking tools, in a form that can be compared."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

LINE = re.compile(r"(?<=\D):\d+\b(:\d+\b)?|(?<=\bline) \d+\b")
# sparse also tells of errors, with which make goes on.
WARNING = re.compile(r"\bwarning: | error: ", re.I)


def strip_lines(lines: Iterable[str]) -> list[str]:
    """Return messages without their line numbers, so that moved lines compare equal."""
    return [LINE.sub("", line) for line in lines]


def find_warnings(said: str, source: Path) -> list[str]:
    """Return the warnings in make's output, sorted, with paths below source and no line numbers."""
    tree = re.compile(rf"\S*/{re.escape(f'{source.parent.name}/{source.name}')}/")
    return sorted(
        strip_lines(
            tree.sub("", line.strip()) for line in said.splitlines() if WARNING.search(line)
        )
    )


def find_added(before: Iterable[str], after: Iterable[str]) -> list[str]:
    """Return the messages that after has and before has not, or has less often."""
    return list((Counter(after) - Counter(before)).elements())
