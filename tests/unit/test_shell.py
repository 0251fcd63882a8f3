# SPDX-License-Identifier: GPL-2.0
"""`make shell` and DRYRUN=, where they refuse."""

import os
import subprocess
import sys

from harness.core import folders


def test_what_is_refused() -> None:
    """Native boots have no shell; the command of a bench is shown with the monitor's files."""
    for accel, module, word, told in (
        ("tcg", "harness.vm.shell", "", "error: make shell needs a terminal: run it in one"),
        ("native", "harness.vm.shell", "", "error: a native boot has no input from the terminal"),
        (
            "native",
            "harness.vm.dryrun",
            "shell",
            "error: a native boot has one CPU, one node and a console",
        ),
        ("native", "harness.vm.dryrun", "bench", "/kernels/series+native"),
    ):
        words = [sys.executable, "-B", "-m", module, word]
        done = subprocess.run(
            words,
            cwd=folders.ROOT,
            env=os.environ | {"ACCEL": accel, "BUILD": "nowhere"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert told in done.stdout + done.stderr
        assert done.returncode == told.startswith("error")
