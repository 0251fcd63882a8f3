# SPDX-License-Identifier: GPL-2.0
"""The accelerator: KVM if it can boot the real kernel, else TCG.

/dev/kvm can exist, open and create machines and still hang a guest, so only a
boot that ends in time counts. The verdict holds until the host reboots.
"""

import os
from pathlib import Path

from harness.guest import Guest, boot, qemu_version
from harness.kernels import Kernel
from harness.options import Options
from harness.process import Fault, digest, say, step

PROBE_SECONDS = 20


def probe(options: Options, kernel: Kernel, image: Path) -> str:
    """Return kvm if a probe boot succeeds there, else tcg, and say why."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        say("KVM: /dev/kvm cannot be opened, using TCG")
        return "tcg"
    step(f"KVM: probe boot, {PROBE_SECONDS} seconds at most")
    try:
        boot(Guest(kernel, image, "kvm", options.gib), options.build / "probe.log", lambda _: None, PROBE_SECONDS)
    except Fault as fault:
        say(f"KVM: {fault}; using TCG")
        return "tcg"
    say("KVM: works")
    return "kvm"


def accel(options: Options, kernel: Kernel, image: Path) -> str:
    """Return the accelerator to use: what ACCEL= says, else TCG for a foreign guest, else the probe's verdict, which is kept per host boot and QEMU."""
    if options.accel:
        return options.accel
    if kernel.arch != "x86_64":
        return "tcg"
    kept = options.build / f"accel-{digest(Path('/proc/sys/kernel/random/boot_id').read_bytes(), qemu_version())}"
    if not kept.exists():
        verdict = probe(options, kernel, image)
        for old in options.build.glob("accel-*"):
            old.unlink()
        kept.with_suffix(".tmp").write_text(verdict)
        kept.with_suffix(".tmp").rename(kept)
    return kept.read_text()
