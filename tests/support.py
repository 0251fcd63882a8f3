# SPDX-License-Identifier: GPL-2.0
"""Functions that several test files call."""

import email
import email.policy
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from harness.core.architectures import get_machine
from harness.core.command import make_environment
from harness.core.folders import ROOT
from harness.kernel.config import KernelConfig
from harness.kernel.images import Kernel
from harness.kernel.topics import SERIES, list_files, list_topics
from harness.replay.build import DEFAULT, Objects, Program

Stage = Callable[..., "subprocess.CompletedProcess[str]"]
# What builds base or series, with a configuration or as it is measured: a fixture of conftest.py.
Build = Callable[..., Kernel]
# What builds a replay program in a configuration, and both its kernels: fixtures of conftest.py.
Built = Callable[[Program, str], Path]
Pair = Callable[[Program, str], tuple[Objects, Objects]]
# `make shell` behind the lock of the build folder, which the tests hold.
SHELL = """
import sys
from pathlib import Path
from harness.core import stages
from harness.kernel.images import Kernel
from harness.vm import shell
release, image, initramfs, accel, port = sys.argv[1:]
kernel = Kernel("series", release, Path(image))
guest = shell.make_guest(kernel, Path(initramfs), accel, 2, int(port))
stages.run_program(lambda: shell.open_shell(guest, int(port)))
"""
MAILS = sorted(SERIES.glob("*/[0-9]*.patch"))
PATCHES = [patch for topic in list_topics() for patch in list_files(topic)]


def need(missing: list[str]) -> None:
    """Skip the test if programs that it needs are not installed."""
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")


def need_machine(arch: str) -> None:
    """Skip the test if QEMU for an architecture, or its firmware, is not installed."""
    machine = get_machine(arch)
    files = (machine.qemu, str(machine.firmware))
    need([file for file in files if not shutil.which(file, os.F_OK)])


# The lists that choose() got as short, with all names that each was compared with.
SHORT_LISTS: dict[frozenset[str], set[str]] = {}


def choose(names: Iterable[str], short: Iterable[str]) -> list[Any]:
    """Return the names as parameters. Those not in short run in make test-all only."""
    names, kept = [*names], frozenset(short)
    SHORT_LISTS.setdefault(kept, set()).update(names)
    return [pytest.param(name, marks=[] if name in kept else [pytest.mark.full]) for name in names]


def replay(
    made: Path, *words: str, config: KernelConfig = DEFAULT
) -> "subprocess.CompletedProcess[str]":
    """Run a replay program to its end."""
    return subprocess.run(
        [*config.tools.architecture.runner, made, *words],
        capture_output=True,
        text=True,
        timeout=1200,
    )


def compare(made: Path, *words: str, config: KernelConfig = DEFAULT) -> None:
    """Fail unless a replay program finds the kernels' memmaps equal."""
    done = replay(made, *words, config=config)
    assert not done.returncode, done.stdout + done.stderr
    assert "as base, byte for byte" in done.stdout


def make(target: str, checkout: Path = ROOT, **env: str) -> "subprocess.CompletedProcess[str]":
    """Run a target of make, in a plain environment with env."""
    return subprocess.run(
        ["make", "-s", "-C", checkout, target],
        env=make_environment(env),
        text=True,
        capture_output=True,
        timeout=60,
    )


def refusal(target: str, checkout: Path = ROOT, **env: str) -> str:
    """Return the one line of a target of make that refuses."""
    done = make(target, checkout, **env)
    assert done.returncode == 2, done
    [line, last] = done.stderr.splitlines()
    assert last.startswith("make: ***")
    return line


def race(made: Path, folder: Path, *words: str, rounds: int = 3) -> dict[str, Any]:
    """Race in a replay program, and return its samples; each round of each runner took some time.

    The rounds are the last but one of its words, and the file of the samples the last one.
    """
    file = folder / "race.json"
    done = replay(made, *words, str(rounds), str(file))
    assert not done.returncode, done.stderr
    samples: dict[str, Any] = json.loads(file.read_text())
    for result in samples["results"]:
        for what in {"samples", "copy", "read"} & result.keys():
            assert all(len(times) == rounds for times in result[what].values())
            assert all(min(times) > 0 for times in result[what].values())
    return samples


def contents(folder: Path) -> dict[str, bytes]:
    """Return the patches below a folder, by name."""
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.patch"))
    }


def read_mail(file: Path) -> EmailMessage:
    """Return the mail in a file."""
    return email.message_from_bytes(file.read_bytes(), policy=email.policy.default)


def name_of(patch: Path) -> str:
    """Return the topic and number of a mail, as pytest's name for it."""
    return f"{patch.parent.name}/{patch.name[:4]}"
