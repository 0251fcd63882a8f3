# SPDX-License-Identifier: GPL-2.0
"""The choice of the accelerator: KVM if it can boot the real kernel, else TCG.

/dev/kvm can exist, open and create machines and still hang a guest: some clouds' KVM runs only
programs on the CPU, and interprets a kernel. native/probe.c tells. Where KVM runs a kernel, a probe
boot must end in time before KVM is used. Its result is kept until the host reboots.
"""

import dataclasses
import os
from pathlib import Path

from harness.core import ROOT, Options, UserError, announce, compile_program, run, say
from harness.core.cache import drop_others, keep
from harness.kernel.images import Kernel
from harness.vm.guest import Guest, boot_guest, check_qemu

PROBE_SECONDS = 20
# Where the CPU runs the guest, an instruction takes less than one, and interpreted, hundreds.
INTERPRETED_NS = 20


def find_kvm(build: Path, arch: str = "x86_64") -> tuple[str, str]:
    """Return the best accelerator for a guest, and why it is no better: kvm, native or tcg.

    native stands for a KVM that interprets a kernel, but runs programs on the CPU.
    """
    # Not kept: a module that is loaded, or a new group of the user, changes it.
    if arch != "x86_64":
        return "tcg", f"this machine is x86-64, the guest {arch}"
    if not os.path.exists("/dev/kvm"):
        return "tcg", "there is no /dev/kvm"
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg", "no permission to open /dev/kvm: join the group that owns it"
    made = compile_program(ROOT / "native/probe.c", build / "probe")
    try:
        ns = float(run([made], "native/probe.c"))
    except UserError as error:
        return "tcg", str(error)
    if ns > INTERPRETED_NS:
        return "native", f"it interprets a kernel, {ns:.0f} ns for an instruction"
    return "kvm", ""


def choose_native(options: Options) -> Options:
    """Return the options with ACCEL=native if it is empty and only native boots use the CPU.

    Raises UserError if ACCEL=native is set where that does not work or is not the best.
    """
    if options.accel not in ("", "native"):
        return options
    best, why = find_kvm(options.build, options.arch)
    if best == "native":
        say(f"KVM: {why}; native boots of a changed kernel instead (docs/native.md)")
        return dataclasses.replace(options, accel="native")
    if options.accel:
        why = why or "KVM runs the unchanged kernel here"
        raise UserError(f"ACCEL=native: {why}; leave it out")
    return options


def choose_accel(options: Options, kernel: Kernel, image: Path) -> str:
    """Return the accelerator to use for an unchanged kernel: kvm or tcg.

    ACCEL= decides if it is set. Otherwise find_kvm() decides, and a probe boot. Its result is kept
    for this boot of the host and this version of QEMU.
    """
    if options.accel:
        return options.accel
    best, why = find_kvm(options.build, kernel.arch)
    if best != "kvm":
        say(f"KVM: {why}; using TCG")
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
