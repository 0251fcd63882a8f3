# SPDX-License-Identifier: GPL-2.0
"""One boot of a kernel in QEMU, watched live and never left running."""

import os
import re
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.console import DONE, FAILED, said, splat
from harness.kernels import Kernel
from harness.process import Fault, end, run, spawn

OLDEST = (6, 1)
RAM_GIB = 2
SILENCE = 60
SHOWN = 15


@dataclass(frozen=True)
class Machine:
    """What QEMU is to be for an architecture: tcg is for the kernel's command line when it is emulated."""

    qemu: str
    board: str
    console: str
    tcg: str = ""
    firmware: Path | None = None


MACHINES = {
    # The emulated TSC ticks as the host's, and on a busy host the guest misjudges
    # its rate by up to ten times; the HPET shows true time. The check that the timer
    # interrupt works fails there at times.
    "x86_64": Machine("qemu-system-x86_64", "q35", "ttyS0", "clocksource=hpet tsc=unstable no_timer_check"),
    # Only ACPI describes an NVDIMM there, and only firmware hands it on.
    "arm64": Machine("qemu-system-aarch64", "virt", "ttyAMA0", firmware=Path("/usr/share/qemu-efi-aarch64/QEMU_EFI.fd")),
}


def qemu_version(arch: str = "x86_64") -> str:
    """Return QEMU's version; Raises Fault when it is absent or too old (memory backends without reservation came in 6.1)."""
    machine = MACHINES[arch]
    for needed in (machine.qemu, machine.firmware):
        if needed and not shutil.which(needed, os.F_OK):
            raise Fault(f"{needed} is missing: run 'make setup'")
    match = re.search(r"version ((\d+)\.(\d+)\S*)", run([machine.qemu, "--version"], machine.qemu))
    if not match or (int(match[2]), int(match[3])) < OLDEST:
        raise Fault(
            f"QEMU {match[1] if match else 'of unknown version'} is too old: {OLDEST[0]}.{OLDEST[1]} or later is needed"
        )
    return match[1]


def need_memory(gib: float, ram_gib: int = RAM_GIB) -> None:
    """Raise Fault unless the host has the memory that two devices of gib GiB make QEMU touch.

    That is the guest's RAM and each device's memmap, which lies on the device
    itself: 64 bytes for every 4 KiB.
    """
    need = ram_gib + 2 * gib / 64 + 0.5
    match = re.search(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text())
    free = int(match[1]) / 2**20 if match else need
    if free < need:
        raise Fault(
            f"two devices of {gib} GiB need {need:.1f} GiB of memory, {free:.1f} GiB are free: close something, or set a smaller SIZE="
        )


@dataclass(frozen=True)
class Guest:
    """A machine to boot: gib is the size of each of its two devices, or 0 for none, words are for the kernel's command line."""

    kernel: Kernel
    initramfs: Path
    accel: str
    gib: float
    words: str = ""
    ram_gib: int = RAM_GIB

    def command(self) -> list[str | Path]:
        """Return QEMU's command line.

        The devices have no label area: namespace0.0 and namespace1.0 then cover
        their whole device, whose size is the namespace's.
        """
        machine, native = MACHINES[self.kernel.arch], self.accel == "kvm"
        fixed = (
            f"-machine {machine.board},nvdimm=on,accel={'kvm' if native else 'tcg'} -cpu {'host' if native else 'max'} -smp 2 "
            f"-m {self.ram_gib}G,slots=2,maxmem={self.ram_gib + 2 * self.gib + 4}G -nodefaults -display none -no-reboot -serial stdio"
        )
        for number in range(2 if self.gib else 0):
            fixed += f" -object memory-backend-ram,id=memory{number},size={self.gib}G,reserve=off"
            fixed += f" -device nvdimm,id=nvdimm{number},memdev=memory{number}"
        if machine.firmware:
            fixed += f" -bios {machine.firmware}"
        if self.accel == "icount":
            # Its clocks then advance by one nanosecond for each instruction, and at once when it waits.
            fixed += " -icount shift=0,sleep=off"
        line = f'console={machine.console} ignore_loglevel printk.devkmsg=on panic=-1 dyndbg="func memmap_init_zone_device +p" {self.words}'
        if not native:
            line += f" {machine.tcg}"
        return [machine.qemu, *fixed.split(), "-kernel", self.kernel.image, "-initrd", self.initramfs, "-append", line]


def lines(child: subprocess.Popen[str], silence: float, limit: float) -> Iterator[str]:
    """Yield a child's output line by line; Raises TimeoutError after silence seconds without a byte or limit seconds in all."""
    assert child.stdout
    until, rest = time.monotonic() + limit, ""
    while True:
        wait = min(silence, until - time.monotonic())
        if wait <= 0:
            raise TimeoutError(f"is not done after {limit:g} seconds")
        if not select.select([child.stdout], [], [], wait)[0]:
            raise TimeoutError(f"hangs: nothing for {wait:.0f} seconds")
        if not (chunk := os.read(child.stdout.fileno(), 65536)):
            break
        *whole, rest = (rest + chunk.decode(errors="replace")).split("\n")
        yield from whole
    if rest:
        yield rest


def boot(
    guest: Guest,
    log: Path,
    progress: Callable[[str], None],
    limit: float,
    silence: float = SILENCE,
    fault: Callable[[str], bool] = splat,
) -> str:
    """Boot once and return the console's text, which log keeps.

    progress is called with each line that guest/init says. The guest may take
    limit seconds and be silent for silence seconds and one for each GiB of a device.
    fault says whether a line is a complaint of the kernel that ends the boot.

    Raises Fault, which shows the last console lines, when the guest panics, warns,
    reports a failure, takes too long or ends without a last word.
    """
    text: list[str] = []
    trouble = ""
    child = spawn(guest.command(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        with log.open("w") as keep:
            for line in lines(child, silence + guest.gib, limit):
                text.append(line.rstrip("\r"))
                print(text[-1], file=keep, flush=True)
                spoken = said(text[-1])
                if fault(line):
                    trouble = f"complains: {text[-1]}"
                elif spoken.startswith(FAILED):
                    trouble = spoken
                elif spoken:
                    progress(spoken)
                if trouble:
                    for more in lines(child, 1, 2):
                        text.append(more.rstrip("\r"))
                        print(text[-1], file=keep)
                    break
        if not trouble and DONE not in map(said, text):
            trouble = "ended without a last word"
    except TimeoutError as slow:
        trouble = trouble or str(slow)
    finally:
        end(child)
    if trouble:
        raise Fault(f"{guest.kernel.name} guest ({guest.accel}) {trouble} (whole console: {log})", text[-SHOWN:])
    return "\n".join(text)
