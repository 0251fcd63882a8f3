# SPDX-License-Identifier: GPL-2.0
"""The choice of the accelerator: KVM if it can boot the real kernel, else TCG.

/dev/kvm can exist, open and create machines and still hang a guest. So a probe boot must end in
time before KVM is used. The result is kept until the host reboots.
"""

import os
from pathlib import Path

from harness.core.cache import drop_others, keep
from harness.core.errors import UserError
from harness.core.options import Options
from harness.core.progress import announce, say
from harness.kernel.images import Kernel
from harness.vm.guest import Guest, boot_guest, check_qemu, compile_monitor

PROBE_SECONDS = 20


def choose_accel(options: Options, kernel: Kernel, image: Path) -> str:
    """Return the accelerator to use: kvm, tcg, icount or native.

    ACCEL= decides if it is set. A guest of another architecture needs TCG. Otherwise a probe boot
    decides. Its result is kept for this boot of the host and this version of QEMU.
    """
    if options.accel:
        if options.accel == "native":
            compile_monitor(options.build)
        return options.accel
    if kernel.arch != os.uname().machine:
        return "tcg"
    # Not kept: a module that is loaded, or a new group of the user, changes it.
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        say("KVM: /dev/kvm cannot be opened, using TCG")
        return "tcg"
    boot = Path("/proc/sys/kernel/random/boot_id").read_bytes()

    def probe(new: Path) -> None:
        announce(f"KVM: probe boot, {PROBE_SECONDS} seconds at most")
        guest, log = Guest(kernel, image, "kvm"), options.build / "probe.log"
        try:
            boot_guest(guest, log, lambda _: None, PROBE_SECONDS)
            say("KVM: works")
            new.write_text("kvm")
        except UserError as error:
            say(f"KVM: {error}; using TCG")
            new.write_text("tcg")

    kept = keep(options.build, "accel", [boot, check_qemu(kernel.arch)], probe)
    drop_others(kept)
    return kept.read_text()
