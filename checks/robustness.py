# SPDX-License-Identifier: GPL-2.0
"""The depth boots: the guest goes through checks of what the devices and the selftest must withstand, or through hmm-tests."""

import re
from dataclasses import dataclass
from pathlib import Path

from harness.core.command import run
from harness.core.errors import UserError
from harness.core.folders import ROOT
from harness.core.options import Options
from harness.core.progress import announce, say
from harness.kernel.config import MEASURED, KernelConfig
from harness.kernel.images import Kernel
from harness.vm.console import read_message
from harness.vm.devices import PAIR
from harness.vm.guest import Guest, boot_guest, need_memory
from harness.vm.initramfs import build_selftest, make_initramfs
from harness.vm.userland import find_program, list_libraries

CONFIG = KernelConfig(
    "robustness", (*MEASURED.fragments, "robustness"), ("CONFIG_RUNTIME_TESTING_MENU=y",)
)
PROGRAMS = ("mkfs.ext4", "e2fsck", "dmsetup", "setpriv", "bash")
HMM = "hmm-tests"
MM = "tools/testing/selftests/mm"
SCRIPTS = ("run_vmtests.sh", "ksft_zone_device_memmap.sh")
REBINDS = 30
LIMIT = 1800
# A single test of hmm-tests may take 120 seconds by its own clock.
SILENCE = 300
# lib/test_hmm takes a chunk of 256 MiB of each of two ranges that are no system RAM.
COHERENT = "memmap=512M$1G test_hmm.spm_addr_dev0=0x40000000 test_hmm.spm_addr_dev1=0x50000000"
# Two regions of guest RAM that are no system RAM: one for nd_pmem, one for device_dax.
REGIONS = "memmap=128M!1G memmap=128M%1152M-1+0xefffffff"
BENCHMARK = {
    "benchmark_thp_migration": "whether it ends in its 120 seconds is a matter of the machine's speed"
}
HUGE = dict.fromkeys(
    (
        f"migrate_{name}"
        for name in (
            "anon_huge_empty",
            "anon_huge_zero",
            "anon_huge_free",
            "anon_huge_fault",
            "partial_unmap_fault",
            "remap_fault",
            "anon_huge_err",
            "anon_huge_zero_err",
        )
    ),
    "for a huge page the base's lib/test_hmm maps its one coherent range once more, which warns",
)
# Which of hmm-tests are left out with each kind of device memory, and why.
WITHOUT = {"private": BENCHMARK, "coherent": BENCHMARK | HUGE}
CHECK = re.compile(r"check (\S+): (ok|FAILED)")
PLAN = re.compile(r"1\.\.(\d+)")
RESULT = re.compile(r"(ok|not ok) \d+ (\S+)(?:\s+# (SKIP|XFAIL|XPASS))?")


@dataclass(frozen=True)
class Check:
    """What the guest told of a check: whether it passed, and the lines before the verdict."""

    ok: bool
    lines: tuple[str, ...]


def build_use(options: Options) -> Path:
    """Return guest/use.c, built statically."""
    made = options.build / "use"
    run(
        ["gcc", "-O2", "-Wall", "-Wextra", "-static", "-o", made, ROOT / "guest/use.c"],
        "building guest/use.c",
    )
    return made


def make_image(options: Options, source: Path) -> Path:
    """Return the initramfs with what the depth scripts call, run_vmtests.sh among it; Raises UserError if one of these programs is not installed."""
    more = {
        f"bin/{program.name}": program.read_bytes()
        for program in (build_use(options), build_selftest(options, source, HMM))
    }
    for program in (find_program(name, "tools") for name in PROGRAMS):
        more[f"bin/{program.name}"] = program.read_bytes()
        more |= {str(library)[1:]: library.read_bytes() for library in list_libraries(program)}
    more |= {f"mm/{script}": (source / MM / script).read_bytes() for script in SCRIPTS}
    return make_initramfs(options, source, "robustness", more)


def read_checks(text: str) -> dict[str, Check]:
    """Return what a console tells of each check."""
    found: dict[str, Check] = {}
    lines: list[str] = []
    for spoken in filter(None, map(read_message, text.splitlines())):
        if match := CHECK.fullmatch(spoken):
            found[match[1]] = Check(match[2] == "ok", tuple(lines))
            lines = []
        else:
            lines.append(spoken)
    return found


def run_checks(
    options: Options,
    kernel: Kernel,
    initramfs: Path,
    accel: str,
    gib: int,
    scripts: str,
    rounds: int,
    words: str = "",
) -> dict[str, Check]:
    """Boot with two devices of gib GiB, go through scripts and return what is told of each check.

    words are for the kernel's command line. Each device is rebound REBINDS times for what must outlive that, and
    interrupted at 3 * rounds random moments. Raises UserError as boot() does.
    """
    need_memory(gib, PAIR)
    words = f"zdm.do={scripts} zdm.rebinds={REBINDS} zdm.rounds={rounds} {words}"
    log = options.build / f"{scripts.rsplit(',')[-1]}-{kernel.name}-{gib}.log"
    guest = Guest(kernel, initramfs, accel, gib, words, devices=PAIR)
    announce(f"robustness: {kernel.name}, two devices of {gib} GiB")
    return read_checks(
        boot_guest(
            guest,
            log,
            lambda spoken: say(spoken) if CHECK.fullmatch(spoken) else None,
            LIMIT + gib * REBINDS,
        )
    )


def run_hmm_tests(options: Options, kernel: Kernel, initramfs: Path, accel: str) -> dict[str, str]:
    """Boot, run hmm-tests but those in WITHOUT and return what it says of each: ok, not ok, SKIP...

    Raises UserError as boot() does, and when a test that was planned is not told of.
    """
    ram = 4
    need_memory(1, PAIR, ram)
    log = options.build / f"hmm-{kernel.name}.log"
    words = " ".join(
        f"zdm.without_{memory}={','.join(left_out)}" for memory, left_out in WITHOUT.items()
    )
    guest = Guest(kernel, initramfs, accel, 1, f"zdm.do=robustness-hmm {words} {COHERENT}", ram)
    announce(f"{HMM}: {kernel.name}")
    spoken = [
        read_message(line)
        for line in boot_guest(guest, log, lambda _: None, LIMIT, SILENCE).splitlines()
    ]
    told = {match[2]: match[3] or match[1] for line in spoken if (match := RESULT.match(line))}
    planned = [int(match[1]) for line in spoken if (match := PLAN.fullmatch(line))]
    if len(planned) != 2 or sum(planned) != len(told):
        raise UserError(
            f"hmm-tests told of {len(told)} tests, planned were {planned} (whole console: {log})"
        )
    return told
