# SPDX-License-Identifier: GPL-2.0
"""What a check found, and how it is kept for the next run."""

import json
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from harness.core.cache import digest_harness, keep
from harness.core.command import make_environment
from harness.core.errors import UserError

Made = TypeVar("Made")


@dataclass(frozen=True)
class Verdict:
    """The findings of a check, none if all is well, and a note to its line."""

    findings: list[str] = field(default_factory=list)
    note: str = ""


class Skip(Exception):
    """A check that cannot be had here; the text is the reason."""


def keep_result(
    folder: Path, name: str, parts: Iterable[str | bytes], make: Callable[[], Made]
) -> Made:
    """Return what make() returns, which must be JSON, from an earlier run if nothing has changed.

    That is parts and all of the harness. Nothing is kept of a UserError.
    """

    def write(new: Path) -> None:
        new.write_text(json.dumps(make()))

    kept = keep(folder, name, [digest_harness(), *parts], write)
    return json.loads(kept.read_text())  # type: ignore[no-any-return]


def ask_tool(
    command: Sequence[str | Path],
    where: Path,
    fine: Sequence[int] = (0, 1),
    env: dict[str, str] | None = None,
) -> list[str]:
    """Return the lines that a checking tool prints; Raises UserError when it cannot be run or ends with a status that is not fine."""
    try:
        done = subprocess.run(
            [str(word) for word in command], cwd=where, env=make_environment(env), text=True, errors="replace",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise UserError(
            f"{error.filename} is missing: run 'make review', which installs it"
        ) from None
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    if done.returncode not in fine:
        raise UserError(
            f"{Path(command[0]).name} ended with status {done.returncode}: {lines[0] if lines else 'it said nothing'}"
        )
    return lines
