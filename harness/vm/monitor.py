# SPDX-License-Identifier: GPL-2.0
"""QEMU's monitor, which gets each command that a guest asks for by "monitor: COMMAND"."""

import json
import socket
import time
from pathlib import Path

from harness.core import UserError

ASKED = "monitor: "
TRIES = 50


def pass_command(path: Path, spoken: str) -> None:
    """Give the QEMU at a socket the command that its guest asks for, if it does."""
    if not spoken.startswith(ASKED):
        return
    line = spoken.removeprefix(ASKED)
    # The guest sees that a device is gone a moment before its name is free.
    for _ in range(TRIES):
        if "Duplicate device ID" not in str(said := ask(path, line)):
            break
        time.sleep(0.1)
    if said:
        raise UserError(f"QEMU refuses '{line}': {said}")


def ask(path: Path, line: str) -> object:
    """Return what QEMU answers to a command of its human monitor, empty if it is content."""
    command = {"execute": "human-monitor-command", "arguments": {"command-line": line}}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(60)
        connection.connect(str(path))
        with connection.makefile("rw") as stream:
            for request in ({"execute": "qmp_capabilities"}, command):
                print(json.dumps(request), file=stream, flush=True)
                # Without the greeting and events.
                replies = map(json.loads, stream)
                answer = next(one for one in replies if one.keys() & {"return", "error"})
    return answer.get("error", answer.get("return"))
