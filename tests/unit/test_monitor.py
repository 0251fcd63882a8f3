# SPDX-License-Identifier: GPL-2.0
"""The commands that a guest asks QEMU's monitor for."""

import json
import socketserver
import threading

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
        monitor.make_monitor() as made,
        socketserver.UnixStreamServer(str(made.path), Qemu) as server,
    ):
        threading.Thread(target=server.serve_forever).start()
        try:
            made.pass_command("stage: nothing to do")
            made.pass_command("monitor: device_del dimm0")
            made.pass_command("monitor: device_add pc-dimm,id=dimm1")
            with pytest.raises(errors.UserError, match=r"QEMU refuses 'unknown': Error: unknown"):
                made.pass_command("monitor: unknown")
        finally:
            server.shutdown()
    assert told == ["device_del dimm0", *["device_add pc-dimm,id=dimm1"] * 2, "unknown"]
