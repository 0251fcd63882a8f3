# SPDX-License-Identifier: GPL-2.0
"""Machine checks in the copy of a huge page, raised by QEMU at the load of a line.

QEMU's debugger stub stops the guest when the first word of the line was loaded, and QEMU's monitor
raises a machine check, which the CPU then takes at the load of the second one. It has the registers
of a check, but no memory is poisoned.
"""

import re
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from io import BufferedRWPair
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.cells import boots
from harness.core import Options, UserError, run
from harness.kernel.images import Kernel

SCRIPT = boots.GUEST / "machine-check"
BOOT = boots.make_boot(SCRIPT)
# The lines of a huge page, as the guest's checks name them: each check moves one.
CACHE_LINES = [int(line) for line in re.findall(r"^check line-(\d+)", SCRIPT.read_text(), re.M)]
ROUTINE = "copy_mc_movnti"
LINE = 64
# The check: bank 1 is valid, uncorrected, enabled, with MISC and ADDR, signalled, action required,
# and a load of data; a check is in progress on this CPU only, and the RIP on the stack is that of
# the load and of where to go on; the address is physical and that of a line.
STATUS, MCG_STATUS, MISC = 0xBD80000000000134, 0xF, 0x86
# Without KASLR, all of memory is mapped at a multiple of this.
MAPPED = 1 << 39
# Where the stub tells the source of a copy, among the registers, and what it can stop at.
RSI = slice(4 * 8, 5 * 8)
EXECUTED, READ = 1, 3


class Stub:
    """QEMU's debugger stub, which stops the guest when it is connected."""

    def __init__(self, stream: BufferedRWPair) -> None:
        self.stream = stream

    def ask(self, packet: str) -> str:
        """Return the answer to a packet; Raises UserError if it is not done, or QEMU has ended."""
        # The plus is for the answer before.
        self.stream.write(f"+${packet}#{sum(packet.encode()) % 256:02x}".encode())
        self.stream.flush()
        answer = b""
        while (byte := self.stream.read(1)) not in (b"#", b""):
            answer = b"" if byte == b"$" else answer + byte
        self.stream.read(2)
        text = answer.decode()
        if text[:1] in "EOW" and text != "OK":
            raise UserError(f"QEMU answers '{text}' to '{packet}'")
        return text

    def run_to(self, kind: int, address: int) -> None:
        """Let the guest run until it executes (kind EXECUTED) or has read what is at an address."""
        for packet in (f"Z{kind},{address:x},1", "c", f"z{kind},{address:x},1"):
            self.ask(packet)


def raise_check(stub: Stub, routine: int, line: int) -> None:
    """Raise a check at a load from a line of the next huge page that is copied."""
    stub.run_to(EXECUTED, routine)
    address = int.from_bytes(bytes.fromhex(stub.ask("g"))[RSI], "little") + line * LINE
    stub.run_to(READ, address)
    command = f"mce 0 1 {STATUS:#x} {MCG_STATUS} {address % MAPPED:#x} {MISC}"
    stub.ask(f"qRcmd,{command.encode().hex()}")


def raise_checks(server: socket.socket, kernel: Kernel) -> None:
    """Raise a check for each line that the guest's checks name; Raises UserError as ask() does."""
    symbols = run(["nm", kernel.image.parent / "vmlinux"], "nm")
    [routine] = re.findall(rf"^(\w+) T {ROUTINE}$", symbols, re.M)
    with server.accept()[0] as connection, connection.makefile("rwb") as stream:
        stub = Stub(stream)
        try:
            # migrate_pages() copies the huge page twice: in a batch, and then alone.
            for line in (line for line in CACHE_LINES for _ in range(2)):
                raise_check(stub, int(routine, 16), line)
        finally:
            # The guest goes on.
            stub.ask("D")


def boot(options: Options, source: Path, kernel: Kernel) -> str:
    """Boot once and return in what it was not as planned, empty if it was.

    Raises UserError as boot_guest() and raise_checks() do.
    """
    with (
        TemporaryDirectory(prefix="qemu-") as folder,
        socket.socket(socket.AF_UNIX) as server,
        ThreadPoolExecutor() as pool,
    ):
        # Until QEMU runs, the initramfs is made.
        server.settimeout(300)
        server.bind(f"{folder}/gdb")
        server.listen()
        raised = pool.submit(raise_checks, server, kernel)
        stopped = replace(BOOT, args=(*BOOT.args, "-gdb", f"unix:{folder}/gdb", "-S"))
        told = boots.boot_once(replace(options, accel="tcg"), source, kernel, SCRIPT.name, stopped)
        why = boots.judge(*told)
        if not why:
            raised.result()
        return why
