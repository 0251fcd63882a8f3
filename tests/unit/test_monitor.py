# SPDX-License-Identifier: GPL-2.0
"""The commands that a guest asks QEMU's monitor for."""

import functools
import json
import socketserver
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from harness.core import errors
from harness.vm import monitor

told: list[str] = []


class Qemu(socketserver.StreamRequestHandler):
    """A stand-in that refuses an unknown device, and at first a name that is still in use."""

    def tell(self, answer: object) -> None:
        self.wfile.write(f"{json.dumps(answer)}\n".encode())

    def handle(self) -> None:
        self.tell({"QMP": {}})
        for request in map(json.loads, self.rfile):
            self.tell({"event": "ACPI_DEVICE_OST"})
            answer: object = {}
            if line := request.get("arguments", {}).get("command-line"):
                answer = "Error: unknown" * ("unknown" in line)
                if "dimm1" in line and line not in told:
                    answer = "Error: Duplicate device ID"
                told.append(line)
            self.tell({"return": answer})


def test_commands() -> None:
    with (
        TemporaryDirectory(prefix="qemu-") as folder,
        socketserver.UnixStreamServer(f"{folder}/monitor", Qemu) as server,
    ):
        threading.Thread(target=server.serve_forever).start()
        ask = functools.partial(monitor.pass_command, Path(folder) / "monitor")
        try:
            ask("stage: nothing to do")
            ask("monitor: device_del dimm0")
            ask("monitor: device_add pc-dimm,id=dimm1")
            with pytest.raises(errors.UserError, match=r"QEMU refuses 'unknown': Error: unknown"):
                ask("monitor: unknown")
        finally:
            server.shutdown()
    assert told == ["device_del dimm0", *["device_add pc-dimm,id=dimm1"] * 2, "unknown"]
