# SPDX-License-Identifier: GPL-2.0
"""The robustness boots: checks of what devices and selftest must withstand, and hmm-tests.

The guest tells its results as KTAP.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from checks import ktap
from harness.core.command import run
from harness.core.errors import UserError
from harness.core.folders import ROOT
from harness.core.options import Options
from harness.core.progress import announce, say
from harness.kernel.config import MEASURED, KernelConfig
from harness.kernel.images import Kernel
from harness.vm.console import list_messages
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
    "benchmark_thp_migration": "whether it ends in its 120 seconds depends on the machine's speed"
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
# One call of the guest's check, whose name is written out.
CALL = re.compile(r"^check (\S+)", re.M)
RESULT = re.compile(r"(?:not )?ok \d+ ")
# What kselftest_harness.h counts at the end. The kernel's parser takes both for a pass.
UNEXPECTED = re.compile(r"# Totals: (?!.* xfail:0 xpass:0 )")
SUITE = "robustness"


@dataclass(frozen=True)
class Check:
    """What the guest told of a check: the parser's verdict (PASS, FAIL...), and why."""

    status: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Checks:
    """What the guest told: names of the checks in their order, the checks, the parser's errors."""

    names: tuple[str, ...]
    found: Mapping[str, Check]
    errors: int


def list_checks(scripts: str) -> list[str]:
    """Return the checks that scripts, NAME,NAME..., call: what the guest plans too."""
    return [
        name
        for script in scripts.split(",")
        for name in CALL.findall((ROOT / "guest" / script).read_text())
    ]


def build_use(options: Options) -> Path:
    """Return guest/use.c, built statically."""
    made = options.build / "use"
    run(
        ["gcc", "-O2", "-Wall", "-Wextra", "-static", "-o", made, ROOT / "guest/use.c"],
        "building guest/use.c",
    )
    return made


def make_image(options: Options, source: Path) -> Path:
    """Return the initramfs with what the robustness scripts call, run_vmtests.sh among it.

    Raises UserError if one of these programs is not installed.
    """
    more = {
        f"bin/{program.name}": program.read_bytes()
        for program in (build_use(options), build_selftest(options, source, HMM))
    }
    for program in (find_program(name, "tools") for name in PROGRAMS):
        more[f"bin/{program.name}"] = program.read_bytes()
        more |= {str(library)[1:]: library.read_bytes() for library in list_libraries(program)}
    more |= {f"mm/{script}": (source / MM / script).read_bytes() for script in SCRIPTS}
    return make_initramfs(options, source, "robustness", more)


def read_checks(source: Path, console: str, log: Path) -> Checks:
    """Return what a console tells of the checks, read by the parser of the worktree source.

    Raises UserError unless the guest began once to tell results; log keeps the console.
    """
    lines = list_messages(console)
    report = ktap.read_streams(source, lines, [SUITE], log)
    # The parser puts a case without a name where a planned one is missing.
    cases = [(path[-1], status) for path, status in report.cases if path[-1]]
    found = {
        name: Check(status, tuple(lines[number] for number in ktap.find_lines(lines, name)))
        for name, status in cases
    }
    return Checks(tuple(name for name, _ in cases), found, report.errors)


def explain_check(checks: Checks, name: str) -> str:
    """Return why a check did not pass, empty if it did."""
    if name not in checks.found:
        return f"{name}: the guest did not get to this check"
    check = checks.found[name]
    if check.status == "PASS":
        return ""
    return "\n".join([f"{name}: {check.status}", *check.lines])


def explain_plan(checks: Checks, planned: Sequence[str]) -> str:
    """Return in what the guest did not keep to the plan, empty if it did."""
    told = [f"{name}: not told of" for name in planned if name not in checks.found]
    told += [f"{name}: not planned" for name in checks.names if name not in planned]
    if not told and checks.names != tuple(planned):
        told = [f"told of: {', '.join(checks.names)}", f"planned: {', '.join(planned)}"]
    if checks.errors:
        told += [f"errors that the parser found in numbers or plan: {checks.errors}"]
    return "\n".join(told)


def run_checks(
    options: Options,
    source: Path,
    kernel: Kernel,
    initramfs: Path,
    accel: str,
    gib: int,
    scripts: str,
    rounds: int,
    words: str = "",
) -> Checks:
    """Boot with two devices of gib GiB, go through scripts and return what is told of the checks.

    source is the worktree whose parser reads it; words are for the kernel's command line. Each
    device is rebound REBINDS times for what must outlive that, and interrupted at 3 * rounds
    random moments. Raises UserError as boot_guest() does.
    """
    need_memory(gib, PAIR)
    words = f"zdm.do={scripts} zdm.rebinds={REBINDS} zdm.rounds={rounds} {words}"
    log = options.build / f"{scripts.rsplit(',')[-1]}-{kernel.name}-{gib}.log"
    guest = Guest(kernel, initramfs, accel, gib, words, devices=PAIR)
    announce(f"robustness: {kernel.name}, two devices of {gib} GiB")
    text = boot_guest(
        guest,
        log,
        lambda spoken: say(spoken) if RESULT.match(spoken) else None,
        LIMIT + gib * REBINDS,
    )
    return read_checks(source, text, log)


def read_hmm_tests(source: Path, console: str, log: Path) -> dict[str, str]:
    """Return what a console tells of each of hmm-tests: PASS, FAIL, SKIP...

    Raises UserError when a test that was planned is not told of, or is expected to fail.
    """
    lines = list_messages(console)
    report = ktap.read_streams(source, lines, list(WITHOUT), log)
    if report.errors:
        raise UserError(f"{HMM} did not keep to their plan (whole console: {log})")
    if unexpected := [line for line in lines if UNEXPECTED.match(line)]:
        raise UserError(f"{HMM}: {unexpected[0]} (whole console: {log})")
    return {".".join(path): status for path, status in report.cases}


def run_hmm_tests(
    options: Options, source: Path, kernel: Kernel, initramfs: Path, accel: str
) -> dict[str, str]:
    """Boot, run hmm-tests but those in WITHOUT and return what is told of each.

    Raises UserError as boot_guest() and read_hmm_tests() do.
    """
    ram = 4
    need_memory(1, PAIR, ram)
    log = options.build / f"hmm-{kernel.name}.log"
    words = " ".join(
        f"zdm.without_{memory}={','.join(left_out)}" for memory, left_out in WITHOUT.items()
    )
    words = f"zdm.do=robustness-hmm {words} {COHERENT}"
    guest = Guest(kernel, initramfs, accel, 1, words, ram, PAIR)
    announce(f"{HMM}: {kernel.name}")
    text = boot_guest(guest, log, lambda _: None, LIMIT, SILENCE)
    return read_hmm_tests(source, text, log)
