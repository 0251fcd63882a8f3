# SPDX-License-Identifier: GPL-2.0
"""The choice of the accelerator: KVM if it can boot the real kernel, else TCG.

/dev/kvm can exist, open and create machines and still hang a kernel: some clouds' KVM runs only
programs on the CPU. So a probe boot must end in time before KVM is used. Its result is kept until
the host reboots.
"""

import os
from pathlib import Path

from harness.core import Options, UserError, announce, say
from harness.core.cache import drop_others, keep
from harness.kernel.images import Kernel
from harness.vm.guest import Guest, boot_guest, check_qemu

PROBE_SECONDS = 20


def find_fault(arch: str) -> str:
    """Return why KVM cannot run a guest, as far as that is seen at once, or an empty string."""
    if arch != "x86_64":
        return f"this machine is x86-64, the guest {arch}"
    if not os.path.exists("/dev/kvm"):
        return "there is no /dev/kvm"
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "no permission to open /dev/kvm: join the group that owns it"
    return ""


def choose_accel(options: Options, kernel: Kernel, image: Path) -> str:
    """Return the accelerator to use: kvm or tcg.

    ACCEL= decides if it is set. Otherwise a probe boot does. Its result is kept for this boot of
    the host and this version of QEMU.
    """
    if options.accel:
        return options.accel
    # Not kept: a module that is loaded, or a new group of the user, changes it.
    if fault := find_fault(kernel.arch):
        say(f"KVM: {fault}; using TCG")
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

    answer = keep(options.build, "accel", [boot, check_qemu(kernel.arch)], probe)
    drop_others(answer)
    return answer.read_text()
