# SPDX-License-Identifier: GPL-2.0
"""`make shell` and DRYRUN= with ACCEL=native."""

import os
import subprocess
import sys

from harness.core import folders


def test_native_boots() -> None:
    """They have no shell; the command of a bench is shown with the monitor's files."""
    for module, word, told in (
        ("harness.vm.shell", "", "error: a native boot has no input from the terminal: leave"),
        ("harness.vm.dryrun", "shell", "error: a native boot has one CPU, one node and a console"),
        ("harness.vm.dryrun", "bench", "/kernels/series+native"),
    ):
        words = [sys.executable, "-B", "-m", module, word]
        done = subprocess.run(
            words,
            cwd=folders.ROOT,
            env=os.environ | {"ACCEL": "native", "BUILD": "nowhere"},
            capture_output=True,
            text=True,
        )
        assert told in done.stdout + done.stderr
        assert done.returncode == told.startswith("error")
