# SPDX-License-Identifier: GPL-2.0
"""KTAP, read by the kernel's own parser, tools/testing/kunit/kunit.py: KUnit's and the guest's."""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core import UserError, run

# What begins a stream, also one of kselftest_harness.h.
VERSION = re.compile(r"K?TAP version \d+")
# Without it, the parser counts nothing.
PLAN = re.compile(r"1\.\.[1-9]\d*")


@dataclass(frozen=True)
class Report:
    """What the parser makes of a log.

    cases are the path and the status (PASS, FAIL, SKIP, ERROR) of each test case, errors is how
    often a plan or a number was not kept.
    """

    cases: tuple[tuple[tuple[str, ...], str], ...]
    errors: int


def make_command(source: Path, *words: str | Path) -> list[str | Path]:
    """Return the command that runs the kunit.py of the worktree source."""
    return [sys.executable, "-B", source / "tools/testing/kunit/kunit.py", *words]


def list_cases(
    group: Mapping[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the path and the status of each test case in a report of kunit.py."""
    for case in group["test_cases"]:
        yield (*path, str(case["name"])), str(case["status"])
    for inner in group["sub_groups"]:
        yield from list_cases(inner, (*path, str(inner["name"])))


def run_parser(
    command: Sequence[str | Path],
    what: str,
    report: Path,
    *,
    log: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Report:
    """Return the report of a kunit.py; Raises UserError only if it writes none: tests may fail."""
    report.unlink(missing_ok=True)
    try:
        run([*command, f"--json={report}"], what, log=log, env=env)
    except UserError:
        if not report.exists():
            raise
    whole = json.loads(report.read_text())
    return Report(tuple(list_cases(whole)), whole["misc"]["errors"])


def parse_log(source: Path, log: Path, what: str) -> Report:
    """Return what source's kunit.py makes of a log: a report; Raises UserError if there is none."""
    command = make_command(source, "parse", log)
    return run_parser(command, f"{what}: reading {log}", log.with_suffix(".json"))


def read_stream(source: Path, lines: Sequence[str], name: str, log: Path) -> Report:
    """Return what the parser makes of the stream of KTAP among lines, as the suite NAME.

    The parser ends at the last test of a plan and does not look at what follows. After a suite
    only its own result may follow, so a result beyond the plan becomes an error. log is the
    console that the lines are from; what is parsed is kept beside it. Raises UserError unless
    there is one stream, with a plan.
    """
    starts = [number for number, line in enumerate(lines) if VERSION.fullmatch(line)]
    if len(starts) != 1:
        raise UserError(
            f"the guest began {len(starts)} times to tell results, not once (whole console: {log})"
        )
    first, *stream = lines[starts[0] :]
    if not stream or not PLAN.fullmatch(stream[0]):
        raise UserError(f"the guest began to tell results without a plan (whole console: {log})")
    text = ["KTAP version 1", "1..1", first, f"# Subtest: {name}", *stream, f"ok 1 {name}"]
    parsed = log.with_suffix(".ktap")
    parsed.write_text("".join(f"{line}\n" for line in text))
    return parse_log(source, parsed, log.stem)


def find_lines(lines: Sequence[str], name: str) -> list[int]:
    """Return the numbers of the lines that tell about a test case, as KUnit marks them."""
    mark = re.compile(rf"# {re.escape(name)}: |{re.escape(name)} # SKIP")
    return [number for number, line in enumerate(lines) if mark.search(line)]
