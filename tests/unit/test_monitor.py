# SPDX-License-Identifier: GPL-2.0
"""The commands that a guest asks QEMU's monitor for."""

import subprocess
import sys

import pytest

from harness.core import errors
from harness.vm import monitor

# A stand-in for QEMU: prints each command, and refuses those of an unknown device.
QEMU = """
import json, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.bind(sys.argv[1])
    server.listen()
    taken = ["Error: Duplicate device ID"]
    print("listening", flush=True)
    while True:
        client, _ = server.accept()
        with client, client.makefile("rw") as stream:
            print(json.dumps({"QMP": {}}), file=stream, flush=True)
            for number, request in enumerate(map(json.loads, stream)):
                print(json.dumps({"event": "ACPI_DEVICE_OST"}), file=stream)
                line = request.get("arguments", {}).get("command-line", "")
                answer = "Error: unknown" if "unknown" in line else "" if line else {}
                if "dimm1" in line and taken:
                    answer = taken.pop()
                if number:
                    print(line, flush=True)
                print(json.dumps({"return": answer}), file=stream, flush=True)
                if number:
                    break
"""


def test_commands() -> None:
    with monitor.make_monitor() as made:
        command = [sys.executable, "-c", QEMU, str(made.path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            try:
                assert child.stdout and child.stdout.readline() == "listening\n"
                made.obey("stage: nothing to do")
                made.obey("monitor: device_add pc-dimm,id=dimm0")
                made.obey("monitor: device_del dimm0")
                made.obey("monitor: device_add pc-dimm,id=dimm1")
                with pytest.raises(errors.UserError, match=r"QEMU refuses 'unknown': Error: "):
                    made.obey("monitor: unknown")
            finally:
                child.kill()
            assert child.stdout.read().splitlines() == [
                "device_add pc-dimm,id=dimm0",
                "device_del dimm0",
                *["device_add pc-dimm,id=dimm1"] * 2,
                "unknown",
            ]
