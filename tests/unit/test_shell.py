# SPDX-License-Identifier: GPL-2.0
"""`make shell` with a stand-in for QEMU: its errors, and the state of the terminal afterwards."""

import os
import pty
import signal
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pytest
from support import SHELL

from harness.core import folders
from harness.kernel.images import Kernel
from harness.vm import shell

KERNEL = Kernel("series", "7.3.0-rc7-series", Path("kernels/bzImage"))


def test_addresses_are_fixed_for_a_debugger() -> None:
    """The rest of its words is seen in test_vm.py."""
    words = [shell.make_guest(KERNEL, Path("i"), "tcg", 2, port).words for port in (0, 4321)]
    assert words == ["zdm.do=shell", "zdm.do=shell nokaslr"]


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
        [sys.executable, "-B", "-c", SHELL, "7.3.0", "bzImage", "initramfs", "tcg", "0"],
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


def test_piped_commands() -> None:
    code = "from harness.vm import shell; print(shell.read_commands())"
    words = [sys.executable, "-B", "-c", code]
    told = subprocess.check_output(words, cwd=folders.ROOT, input=b"uname -a")
    assert told == b"{'commands': b'uname -a'}\n"
