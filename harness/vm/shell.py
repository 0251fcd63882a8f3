# SPDX-License-Identifier: GPL-2.0
"""`make shell`: a guest with the devices that make bench has, and its shell on this terminal.

KERNEL= says which kernel; GDB=1 lets QEMU wait for a debugger.
"""

import contextlib
import os
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

from harness.core.command import spawn
from harness.core.errors import UserError
from harness.core.folders import lock_build
from harness.core.options import read_options
from harness.core.progress import announce
from harness.core.stages import run_program
from harness.kernel.config import BOOTED
from harness.kernel.images import Kernel, build_kernel
from harness.kernel.tree import apply_series
from harness.vm.accel import choose_accel
from harness.vm.devices import list_devices
from harness.vm.guest import Guest, check_qemu, need_memory
from harness.vm.initramfs import make_initramfs

# Where QEMU waits for a debugger: what its -s takes, but for this machine only.
PORT = 1234
DEBUG = """QEMU waits for a debugger. In another terminal:
    {gdb} {folder}/vmlinux
    (gdb) target remote :{port}
    (gdb) hbreak memmap_init_zone_device
    (gdb) continue
vmlinux has symbols, but no lines. Ctrl-A x ends QEMU."""


def make_guest(kernel: Kernel, initramfs: Path, accel: str, gib: int, port: int = 0) -> Guest:
    """Return the guest with a shell, which waits for a debugger at port unless that is 0."""
    # Ctrl-C then goes to the guest, and Ctrl-A x ends QEMU.
    args = ["-serial", "mon:stdio"]
    words = "zdm.do=shell"
    if port:
        args += ["-gdb", f"tcp:127.0.0.1:{port}", "-S"]
        words += " nokaslr"
    devices = list_devices(kernel.arch)
    return Guest(kernel, initramfs, accel, gib, words, devices=devices, args=args)


@contextlib.contextmanager
def keep_terminal() -> Iterator[None]:
    """Leave the terminal as it was, if there is one, however QEMU ends."""
    streams = [stream.fileno() for stream in (sys.stdin, sys.stdout, sys.stderr)]
    blocking = {number: os.get_blocking(number) for number in streams}
    kept = termios.tcgetattr(streams[0]) if os.isatty(streams[0]) else None
    try:
        yield
    finally:
        for number, was in blocking.items():
            os.set_blocking(number, was)
        if kept:
            termios.tcsetattr(streams[0], termios.TCSADRAIN, kept)


def read_commands() -> dict[str, bytes]:
    """Return the file of the guest with the commands of a pipe; nothing on a terminal."""
    return {} if os.isatty(sys.stdin.fileno()) else {"commands": sys.stdin.buffer.read()}


def open_shell(guest: Guest, port: int = 0) -> None:
    """Boot a guest on this terminal until it ends; Raises UserError if QEMU fails."""
    if port:
        gdb = "gdb" if guest.kernel.arch == os.uname().machine else "gdb-multiarch"
        print(DEBUG.format(gdb=gdb, folder=guest.kernel.image.parent, port=port), flush=True)
    with keep_terminal():
        piped = not os.isatty(sys.stdin.fileno())
        stdin = subprocess.DEVNULL if piped else None
        with spawn(guest.command(), stdin=stdin, stdout=None, stderr=None) as child:
            if status := child.wait():
                raise UserError(f"QEMU ended with status {status}")


def run_shell() -> None:
    """Build what is needed and open the shell; Raises UserError as the stages do."""
    options = read_options()
    port = PORT * options.gdb
    commands = read_commands()
    # Not for as long as the shell is open: QEMU has read kernel and initramfs by then.
    with lock_build(options.build):
        check_qemu(options.arch)
        trees = apply_series(options)
        kernel = build_kernel(
            options, options.kernel, getattr(trees, options.kernel), BOOTED[options.arch]
        )
        image = make_initramfs(options, trees.series, "shell", commands)
        need_memory(options.gib, list_devices(options.arch))
        accel = choose_accel(options, kernel, image)
    announce(f"a shell in {kernel.release} ({accel})")
    open_shell(make_guest(kernel, image, accel, options.gib, port), port)


if __name__ == "__main__":
    run_program(run_shell)
