# SPDX-License-Identifier: GPL-2.0
"""KTAP, read by the kernel's own parser, tools/testing/kunit/kunit.py: KUnit's and the guest's."""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from harness.core.command import run
from harness.core.errors import UserError

# What begins a stream, also one of kselftest_harness.h.
VERSION = re.compile(r"K?TAP version \d+")


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


def load_report(report: Path) -> Report:
    """Return a report that kunit.py wrote."""
    whole = json.loads(report.read_text())
    return Report(tuple(list_cases(whole)), whole["misc"]["errors"])


def write_report(
    command: Sequence[str | Path],
    what: str,
    report: Path,
    *,
    log: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Path:
    """Run a kunit.py that is to write report, and return report.

    kunit.py also fails when a test did. Raises UserError only when it writes no report.
    """
    report.unlink(missing_ok=True)
    try:
        run([*command, f"--json={report}"], what, log=log, env=env)
    except UserError:
        if not report.exists():
            raise
    return report


def parse_log(source: Path, log: Path, what: str) -> Path:
    """Return the report that the kunit.py of the worktree source makes of a log, beside the log.

    Raises UserError when it makes none.
    """
    command = make_command(source, "parse", log)
    return write_report(command, f"{what}: reading {log}", log.with_suffix(".json"))


def split_streams(lines: Sequence[str]) -> list[list[str]]:
    """Return the streams of KTAP among lines; each lasts until the next begins."""
    starts = [number for number, line in enumerate(lines) if VERSION.fullmatch(line)]
    return [list(lines[start:end]) for start, end in pairwise([*starts, len(lines)])]


def join_streams(streams: Mapping[str, Sequence[str]]) -> list[str]:
    """Return one stream in which each of streams is a suite.

    The parser ends at the last test of a plan and does not look at what follows. After a suite
    only its own result may follow, so a result beyond the plan becomes an error.
    """
    joined = ["KTAP version 1", f"1..{len(streams)}"]
    for number, (name, lines) in enumerate(streams.items(), 1):
        joined += [lines[0], f"# Subtest: {name}", *lines[1:], f"ok {number} {name}"]
    return joined


def read_streams(source: Path, lines: Sequence[str], names: Sequence[str], log: Path) -> Report:
    """Return what the parser makes of the streams among lines, which are suites of these names.

    log is the console that they are from; what is parsed is kept beside it. Raises UserError
    unless there is a stream for each name.
    """
    streams = split_streams(lines)
    if len(streams) != len(names):
        raise UserError(
            f"the guest began {len(streams)} times to tell results, not {len(names)} times "
            f"(whole console: {log})"
        )
    text = join_streams(dict(zip(names, streams, strict=True)))
    parsed = log.with_suffix(".ktap")
    parsed.write_text("".join(f"{line}\n" for line in text))
    return load_report(parse_log(source, parsed, log.stem))


def find_lines(lines: Sequence[str], name: str) -> list[int]:
    """Return the numbers of the lines that tell about a test case, as KUnit marks them."""
    mark = re.compile(rf"# {re.escape(name)}: |{re.escape(name)} # SKIP")
    return [number for number, line in enumerate(lines) if mark.search(line)]
