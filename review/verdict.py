# SPDX-License-Identifier: GPL-2.0
"""The verdict of a check, and the cache that keeps results for the next run."""

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
    """The findings of a check, which are none if all is well, and a note for its line."""

    findings: list[str] = field(default_factory=list)
    note: str = ""


class Skip(Exception):
    """A check cannot be run here; the text is the reason."""


def keep_result(
    folder: Path, name: str, parts: Iterable[str | bytes], make: Callable[[], Made]
) -> Made:
    """Return what make() returns, or what it returned in an earlier run with the same inputs.

    The inputs are parts and all files of the harness. The result must be JSON. A UserError is not
    kept.
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
    """Return the lines that a checking tool prints.

    Raises UserError when it cannot be run, or when it ends with a status that is not in fine.
    """
    try:
        done = subprocess.run(
            [str(arg) for arg in command],
            cwd=where,
            env=make_environment(env),
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    except FileNotFoundError as error:
        raise UserError(
            f"{error.filename} is missing: run 'make review', which installs it"
        ) from None
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    if done.returncode not in fine:
        raise UserError(
            f"{Path(command[0]).name} ended with status {done.returncode}: "
            f"{lines[0] if lines else 'no output'}"
        )
    return lines
