# SPDX-License-Identifier: GPL-2.0
"""Boot a kernel in QEMU, watch its console, and never leave QEMU running."""

import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.core import UserError, announce, run, spawn
from harness.core.architectures import get_machine
from harness.core.host import find_free_memory
from harness.kernel.images import Kernel
from harness.vm.console import DONE, FAILED, STAGE, is_splat, read_message
from harness.vm.devices import MEMMAP_GIB, Device

RAM_GIB = 2
SILENCE_S = 60
SHOWN_LINES = 15
EXIT_WAIT_S = 5


def check_qemu(arch: str = "x86_64") -> str:
    """Return QEMU's version; Raises UserError when QEMU or its firmware is missing."""
    machine = get_machine(arch)
    for needed in (machine.qemu, machine.firmware):
        if needed and not shutil.which(needed, os.F_OK):
            raise UserError(f"{needed} is missing: run 'make setup'")
    match = re.search(r"version (\S+)", run([machine.qemu, "--version"], machine.qemu))
    return match[1] if match else "of unknown version"


def need_memory(gib: float, devices: Sequence[Device], ram_gib: int = RAM_GIB) -> None:
    """Raise UserError unless the host has the memory that a guest makes QEMU touch.

    That is ram_gib GiB of RAM, and the memmap of each device of gib GiB, which is on the device.
    """
    need = ram_gib + len(devices) * gib * MEMMAP_GIB + 0.5
    if (free := find_free_memory()) < need:
        raise UserError(
            f"a guest with {ram_gib} GiB of RAM and {len(devices)} devices of {gib} GiB needs "
            f"{need:.1f} GiB of memory, but {free:.1f} GiB are free: close other programs, "
            "or set a smaller SIZE="
        )


@dataclass(frozen=True)
class Guest:
    """A machine to boot, with devices of gib GiB each.

    words are for the kernel's command line, args for QEMU's. The nodes share RAM and cpus evenly;
    where there are more nodes than CPUs, the last ones have none.
    """

    kernel: Kernel
    initramfs: Path
    accel: str
    gib: float = 0
    words: str = ""
    ram_gib: int = RAM_GIB
    devices: Sequence[Device] = ()
    args: Sequence[str] = ("-serial", "stdio")
    cpus: int = 2
    nodes: int = 1

    def command(self) -> list[str | Path]:
        """Return QEMU's command line.

        The devices have no label area, so that namespace0.0, namespace1.0... each cover a whole
        device. The host provides a page when the guest first touches it, so RAM and devices may
        exceed the host's.
        """
        machine, kvm = get_machine(self.kernel.arch), self.accel == "kvm"
        numa = self.nodes > 1 or "-numa" in self.args
        number = len(self.devices)
        memory = f"{self.ram_gib}G"
        if number:
            # With room for the alignment of each device.
            memory += f",slots={number},maxmem={self.ram_gib + number * self.gib + 4}G"
        command: list[str | Path] = [machine.qemu]
        board = f"{machine.board},nvdimm=on,accel={'kvm' if kvm else 'tcg'}"
        command += ["-machine", board + ",memory-backend=ram0" * (not numa)]
        command += ["-cpu", "host" if kvm else "max"]
        # A socket for each node: QEMU puts all CPUs of a socket in one node.
        command += ["-smp", f"{self.cpus},sockets={min(self.cpus, self.nodes)}"]
        command += ["-m", memory]
        for node in range(self.nodes):
            size = self.ram_gib * 1024 // self.nodes
            command += ["-object", f"memory-backend-ram,id=ram{node},size={size}M,reserve=off"]
            command += ["-numa", f"node,nodeid={node},memdev=ram{node}"] * numa
        command += ["-nodefaults", "-display", "none", "-no-reboot", *self.args]
        for index, one in enumerate(self.devices):
            backend = f"memory-backend-ram,id=memory{index},size={self.gib}G,reserve=off"
            command += ["-object", backend]
            device = f"nvdimm,id=nvdimm{index},memdev=memory{index}"
            command += ["-device", device + f",node={one.node}" * bool(one.node)]
        if machine.firmware:
            command += ["-bios", machine.firmware]
        words = [f"console={machine.console}", "ignore_loglevel", "panic=-1"]
        words += ['dyndbg="func memmap_init_zone_device +p"']
        words += [f"zdm.devices={','.join(map(str, self.devices))}"] * bool(number)
        words += [self.words] + [machine.tcg] * (not kvm)
        command += ["-kernel", self.kernel.image, "-initrd", self.initramfs]
        return [*command, "-append", " ".join(filter(None, words))]


class Patience:
    """How long to wait for a child: silence seconds without a byte, limit seconds from now."""

    def __init__(self, silence: float, limit: float) -> None:
        self.set(silence, limit)

    def set(self, silence: float, limit: float) -> None:
        """Set both, also while read_lines() reads."""
        self.silence, self.limit, self.until = silence, limit, time.monotonic() + limit


def read_lines(child: subprocess.Popen[str], patience: Patience) -> Iterator[str]:
    """Yield a child's output line by line; Raises TimeoutError when patience ends."""
    assert child.stdout
    rest = ""
    while True:
        left = patience.until - time.monotonic()
        if left <= 0 or not select.select([child.stdout], [], [], min(patience.silence, left))[0]:
            if left <= patience.silence:
                raise TimeoutError(f"is not done after {patience.limit:g} seconds")
            raise TimeoutError(f"hangs: no output for {patience.silence:g} seconds")
        if not (chunk := os.read(child.stdout.fileno(), 65536)):
            break
        *whole, rest = (rest + chunk.decode(errors="replace")).split("\n")
        yield from whole
    if rest:
        yield rest


def announce_stage(what: str, spoken: str) -> None:
    """Announce a stage that guest/init says it has reached; what is the boot."""
    if spoken.startswith(STAGE):
        announce(f"{what}: {spoken.removeprefix(STAGE)}")


def describe_end(child: subprocess.Popen[str]) -> str:
    """Return how QEMU ended when the guest did not say that it is done."""
    try:
        status = child.wait(EXIT_WAIT_S)
    except subprocess.TimeoutExpired:
        return "closed its console but did not exit"
    if status == -signal.SIGKILL:
        return "was killed by SIGKILL: if the host ran out of memory, set a smaller SIZE="
    if status < 0:
        return f"was killed by {signal.Signals(-status).name}"
    return f"ended before it was done (QEMU's status {status})"


def boot_guest(
    guest: Guest,
    log: Path,
    progress: Callable[[str], None],
    limit: float,
    silence: float = SILENCE_S,
    fault: Callable[[str], bool] = is_splat,
) -> str:
    """Boot once and return the console's text; log gets QEMU's command line and that text.

    progress is called with each line that guest/init says. The guest may take limit seconds. It
    may be silent for silence seconds plus one second for each GiB of a device. fault says whether
    a line is a complaint of the kernel that ends the boot.

    Raises UserError when the guest panics, warns, reports a failure, takes too long, or ends before
    it is done. The error shows the last lines of the console.
    """
    text: list[str] = []
    trouble, patience = "", Patience(silence + guest.gib, limit)
    command = guest.command()
    try:
        with spawn(command) as child, log.open("w") as keep:
            print(f"$ {shlex.join(map(str, command))}", file=keep, flush=True)
            for line in read_lines(child, patience):
                text.append(line.rstrip("\r"))
                print(text[-1], file=keep, flush=True)
                if trouble:
                    continue
                spoken = read_message(text[-1])
                if fault(line):
                    trouble = f"complains: {text[-1]}"
                elif spoken.startswith(FAILED):
                    trouble = spoken
                elif spoken:
                    progress(spoken)
                if trouble:
                    # The rest of the report: until a second of silence, for two at most.
                    patience.set(1, 2)
            if not trouble and DONE not in map(read_message, text):
                trouble = describe_end(child)
    except TimeoutError as error:
        trouble = trouble or str(error)
    if trouble:
        raise UserError(
            f"{guest.kernel.name} guest ({guest.accel}) {trouble} (whole console: {log})",
            text[-SHOWN_LINES:],
        )
    return "\n".join(text)
