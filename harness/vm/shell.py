# SPDX-License-Identifier: GPL-2.0
"""`make shell`: a guest with the devices that make bench has, and its shell on this terminal.

KERNEL= says which kernel. It prints QEMU's command line first.
"""

import os
import shlex
import sys
from pathlib import Path

from harness.core import UserError, announce, lock_build, read_options, run_program
from harness.core.command import make_environment
from harness.kernel.configs import BOOTED
from harness.kernel.images import Kernel, build_kernel
from harness.kernel.tree import apply_series
from harness.vm.accel import choose_accel
from harness.vm.devices import list_devices
from harness.vm.guest import Guest, check_qemu, need_memory
from harness.vm.initramfs import make_initramfs


def make_guest(kernel: Kernel, initramfs: Path, accel: str, gib: int) -> Guest:
    """Return the guest with a shell. Ctrl-C goes to the guest, and Ctrl-A x ends QEMU."""
    args, devices = ("-serial", "mon:stdio"), list_devices(kernel.arch)
    return Guest(kernel, initramfs, accel, gib, "zdm.do=shell", devices=devices, args=args)


def run_shell() -> None:
    """Replace this process by QEMU, which restores the terminal when it ends, unless it is killed.

    Raises UserError if that cannot be prepared.
    """
    options = read_options()
    if not sys.stdin.isatty():
        raise UserError("make shell needs a terminal: run it in one")
    # Not for as long as the shell is open: QEMU has read kernel and initramfs by then.
    with lock_build(options.build):
        check_qemu(options.arch)
        need_memory(options.gib, list_devices(options.arch))
        trees = apply_series(options)
        kernel = build_kernel(
            options, options.kernel, getattr(trees, options.kernel), BOOTED[options.arch]
        )
        image = make_initramfs(options, trees.series, "shell")
        accel = choose_accel(options, kernel, image)
    announce(f"a shell in {kernel.release} ({accel})")
    command = [*map(str, make_guest(kernel, image, accel, options.gib).command())]
    print(shlex.join(command), flush=True)
    os.execvpe(command[0], command, make_environment())


if __name__ == "__main__":
    run_program(run_shell)
