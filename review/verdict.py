# SPDX-License-Identifier: GPL-2.0
"""The verdict of a check, and the cache that keeps results for the next run."""

import functools
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from harness.core.cache import digest_harness, keep
from harness.core.command import run

Made = TypeVar("Made")


@dataclass(frozen=True)
class Verdict:
    """The findings of a check, which are none if all is well, and a note for its line."""

    findings: list[str] = field(default_factory=list)
    note: str = ""


class Skip(Exception):
    """A check cannot be run here; the text is the reason."""


@functools.cache
def ask_version(program: str) -> str:
    """Return the version of a tool that a check uses; what is kept is of that version."""
    return run([program, "--version"], f"{program} --version")


def keep_result(
    folder: Path,
    name: str,
    parts: Iterable[str | bytes],
    make: Callable[[], Made],
    tools: Iterable[str] = (),
) -> Made:
    """Return what make() returns, or what it returned in an earlier run with the same inputs.

    The inputs are parts, the versions of tools, and all files of the harness. The result must be
    JSON. A UserError is not kept.
    """

    def write(new: Path) -> None:
        new.write_text(json.dumps(make()))

    kept = keep(folder, name, [digest_harness(), *map(ask_version, tools), *parts], write)
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
    said = run(command, Path(command[0]).name, fine=fine, env=env, cwd=where)
    return [line for line in said.splitlines() if line.strip()]
