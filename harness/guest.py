# SPDX-License-Identifier: GPL-2.0
"""One boot of a kernel in QEMU, watched live and never left running."""

import os
import re
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from harness.console import DONE, FAILED, said, splat
from harness.kernels import Kernel
from harness.options import Options
from harness.process import Fault, end, run, spawn

QEMU = "qemu-system-x86_64"
OLDEST = (6, 1)
RAM_GIB = 2
SHOWN = 15


def qemu_version() -> str:
    """Return QEMU's version; Raises Fault when it is absent or too old (memory backends without reservation came in 6.1)."""
    if not shutil.which(QEMU):
        raise Fault(f"{QEMU} is missing: run 'make setup'")
    match = re.search(r"version ((\d+)\.(\d+)\S*)", run([QEMU, "--version"], QEMU))
    if not match or (int(match[2]), int(match[3])) < OLDEST:
        raise Fault(
            f"QEMU {match[1] if match else 'of unknown version'} is too old: {OLDEST[0]}.{OLDEST[1]} or later is needed"
        )
    return match[1]


def need_memory(gib: int) -> None:
    """Raise Fault unless the host has the memory that two devices of gib GiB make QEMU touch.

    That is the guest's RAM and each device's memmap, which lies on the device
    itself: 64 bytes for every 4 KiB.
    """
    need = RAM_GIB + 2 * gib / 64 + 0.5
    match = re.search(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text())
    free = int(match[1]) / 2**20 if match else need
    if free < need:
        raise Fault(
            f"two devices of {gib} GiB need {need:.1f} GiB of memory, {free:.1f} GiB are free: close something, or set a smaller SIZE="
        )


def command(kernel: Kernel, initramfs: Path, accel: str, gib: int, rebinds: int) -> list[str | Path]:
    """Return QEMU's command line; with rebinds 0 the guest only boots.

    The devices have no label area: namespace0.0 and namespace1.0 then cover
    their whole device, whose size is the namespace's.
    """
    fixed = (
        f"-machine q35,nvdimm=on,accel={accel} -cpu {'host' if accel == 'kvm' else 'max'} -smp 2 "
        f"-m {RAM_GIB}G,slots=2,maxmem={RAM_GIB + 2 * gib + 4}G -nodefaults -display none -no-reboot -serial stdio"
    )
    for number in range(2):
        fixed += f" -object memory-backend-ram,id=memory{number},size={gib}G,reserve=off"
        fixed += f" -device nvdimm,id=nvdimm{number},memdev=memory{number}"
    line = 'console=ttyS0 ignore_loglevel printk.devkmsg=on panic=-1 dyndbg="func memmap_init_zone_device +p"'
    if accel == "tcg":
        # The emulated TSC ticks as the host's, and on a busy host the guest misjudges
        # its rate by up to ten times; the HPET shows true time.
        line += " clocksource=hpet tsc=unstable"
    line += f" zdm.rebinds={rebinds}" if rebinds else ""
    return [QEMU, *fixed.split(), "-kernel", kernel.image, "-initrd", initramfs, "-append", line]


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
    kernel: Kernel,
    initramfs: Path,
    accel: str,
    options: Options,
    rebinds: int,
    log: Path,
    progress: Callable[[str], None],
    limit: float = 0,
) -> str:
    """Boot once and return the console's text, which log keeps.

    progress is called with each line that guest/init says. The guest may take
    limit seconds (by default 5 minutes and a fifth of a second for each GiB and
    rebind) and be silent for a minute and a second for each GiB.

    Raises Fault, which shows the last console lines, when the guest panics, warns,
    reports a failure, takes too long or ends without a last word.
    """
    text: list[str] = []
    trouble = ""
    child = spawn(
        command(kernel, initramfs, accel, options.gib, rebinds),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        with log.open("w") as keep:
            for line in lines(child, 60 + options.gib, limit or 300 + options.gib * rebinds / 5):
                text.append(line.rstrip("\r"))
                print(text[-1], file=keep, flush=True)
                spoken = said(text[-1])
                if splat(line):
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
        raise Fault(f"{kernel.name} guest ({accel}) {trouble} (whole console: {log})", text[-SHOWN:])
    return "\n".join(text)
