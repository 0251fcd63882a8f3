# SPDX-License-Identifier: GPL-2.0
"""What a check found, and how it is kept for the next run."""

import json
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from harness.process import Fault, digest

Made = TypeVar("Made")


@dataclass(frozen=True)
class Verdict:
    """The findings of a check, none if all is well, and a note to its line."""

    findings: list[str] = field(default_factory=list)
    note: str = ""


class Skip(Exception):
    """A check that cannot be had here; the text is the reason."""


def kept(home: Path, name: str, parts: Iterable[str | bytes], make: Callable[[], Made]) -> Made:
    """Return what make returns, which must be JSON, from the last run if parts are the same; nothing is kept of a Fault."""
    file = home / f"{name}-{digest(*parts)}.json"
    if not file.exists():
        made = make()
        home.mkdir(parents=True, exist_ok=True)
        file.with_suffix(".tmp").write_text(json.dumps(made))
        file.with_suffix(".tmp").rename(file)
    return json.loads(file.read_text())  # type: ignore[no-any-return]


def ask(command: Sequence[str | Path], where: Path, fine: Sequence[int] = (0, 1), env: dict[str, str] | None = None) -> list[str]:
    """Return the lines that a checking tool prints; Raises Fault when it cannot be run or ends with a status that is not fine."""
    try:
        done = subprocess.run(
            [str(word) for word in command], cwd=where, env=env, text=True, errors="replace",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise Fault(f"{error.filename} is missing: run 'make review', which installs it") from None
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    if done.returncode not in fine:
        raise Fault(f"{Path(command[0]).name} ended with status {done.returncode}: {lines[0] if lines else 'it said nothing'}")
    return lines
