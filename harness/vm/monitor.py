# SPDX-License-Identifier: GPL-2.0
"""QEMU's monitor, which gets each command that a guest asks for by "monitor: COMMAND"."""

import json
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.core.errors import UserError

ASKED = "monitor: "
TRIES = 50


@dataclass(frozen=True)
class Monitor:
    """The monitor of a guest, at a socket. args are for QEMU's command line."""

    path: Path

    @property
    def args(self) -> Sequence[str]:
        """The words of QEMU's command line that make the monitor."""
        return ("-qmp", f"unix:{self.path},server=on,wait=off")

    def pass_command(self, spoken: str) -> None:
        """Give QEMU the command that a guest asks for; Raises UserError if QEMU objects to it."""
        if not spoken.startswith(ASKED):
            return
        line = spoken.removeprefix(ASKED)
        # The guest sees that a device is gone a moment before its name is free.
        for _ in range(TRIES):
            if "Duplicate device ID" not in str(said := self.ask(line)):
                break
            time.sleep(0.1)
        if said:
            raise UserError(f"QEMU refuses '{line}': {said}")

    def ask(self, line: str) -> object:
        """Return what QEMU answers to a command of its human monitor, empty if it is content."""
        command = {"execute": "human-monitor-command", "arguments": {"command-line": line}}
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(60)
            connection.connect(str(self.path))
            with connection.makefile("rw") as stream:
                for request in ({"execute": "qmp_capabilities"}, command):
                    print(json.dumps(request), file=stream, flush=True)
                    # Without the greeting and events.
                    told = map(json.loads, stream)
                    answer = next(one for one in told if one.keys() & {"return", "error"})
        return answer.get("error", answer.get("return"))


@contextmanager
def make_monitor() -> Iterator[Monitor]:
    """Yield a monitor whose socket is gone afterwards.

    It does not lie in the build folder, as the path of a socket has to be short.
    """
    with TemporaryDirectory(prefix="qemu-") as folder:
        yield Monitor(Path(folder) / "monitor")
