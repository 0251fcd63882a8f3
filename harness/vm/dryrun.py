# SPDX-License-Identifier: GPL-2.0
"""`make bench DRYRUN=1`, `make shell DRYRUN=1`: the command that boots the guest, and no more.

Nothing is built or installed. A file that is there is named, and else the place where it will be.
"""

import os
import shlex
import sys
from pathlib import Path

from harness.bench.measure import make_guest
from harness.core import Options, read_options, run_program
from harness.kernel.images import Kernel
from harness.vm import shell
from harness.vm.guest import Guest


def plan_guest(options: Options, target: str) -> Guest:
    """Return the guest that a target would boot, by the accelerator that it would try first."""
    kernels = options.build / "kernels"
    made = sorted(kernels.glob(f"{options.kernel}-*/image"))
    built = made[0] if made else kernels / options.kernel / "image"
    kernel = Kernel(options.kernel, "", built, options.arch)
    name = "shell" if target == "shell" else "initramfs"
    usable = options.arch == os.uname().machine and os.access("/dev/kvm", os.R_OK | os.W_OK)
    accel = options.accel or ("kvm" if usable else "tcg")
    image = options.build / f"{name}-{options.arch}.cpio"
    if target == "shell":
        return shell.make_guest(kernel, image, accel, options.gib)
    return make_guest(options, kernel, image, accel)


def show_command(options: Options, target: str) -> None:
    guest = plan_guest(options, target)
    command = guest.command()
    print(shlex.join(map(str, command)))
    for file in command:
        if isinstance(file, Path) and not file.exists():
            print(f"not there yet, make {target} makes it: {file}", file=sys.stderr)


if __name__ == "__main__":
    run_program(lambda: show_command(read_options(), sys.argv[1]))
