# SPDX-License-Identifier: GPL-2.0
"""`make shell` with a stand-in for QEMU: its errors, and the state of the terminal afterwards."""

import os
import pty
import signal
import subprocess
import sys
import termios
from collections.abc import Callable

import pytest

from harness.core import folders
from support import SHELL


@pytest.mark.parametrize(
    ("script", "number", "status", "told"),
    [
        ("stty raw -echo; exit 0", None, 0, b""),
        ("stty raw -echo; exit 3", None, 1, b"error: QEMU ended with status 3"),
        ("stty raw -echo; kill -9 $$", None, 1, b"error: QEMU ended with status -9"),
        ("stty raw -echo; echo up; exec sleep 100", signal.SIGTERM, 130, b"error: interrupted"),
        ("stty raw -echo; echo up; exec sleep 100", signal.SIGHUP, 130, b"error: interrupted"),
    ],
)
def test_terminal_afterwards(
    qemu: Callable[[str], None],
    script: str,
    number: signal.Signals | None,
    status: int,
    told: bytes,
) -> None:
    qemu(script)
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)
    with subprocess.Popen(
        [sys.executable, "-B", "-c", SHELL, "7.3.0", "bzImage", "initramfs", "tcg"],
        cwd=folders.ROOT,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        # Under nohup we ignore SIGHUP, and so would the child.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    ) as child:
        if number:
            assert b"up" in os.read(master, 100)
            child.send_signal(number)
        assert child.wait(20) == status
    assert termios.tcgetattr(slave) == before
    os.close(slave)
    said = b""
    # Its end is an error on Linux.
    while told and told not in said:
        said += os.read(master, 100)
    os.close(master)


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


def test_no_terminal(qemu: Callable[[str], None]) -> None:
    qemu("exit 0")
    words = [sys.executable, "-B", "-c", SHELL, "7.3.0", "bzImage", "initramfs", "tcg"]
    done = subprocess.run(words, cwd=folders.ROOT, stdin=subprocess.DEVNULL, stderr=-1, text=True)
    assert (done.returncode, done.stderr) == (1, "error: make shell needs a terminal\n")
