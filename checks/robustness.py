# SPDX-License-Identifier: GPL-2.0
"""The robustness boot: what the selftest must withstand. It tells its results as KTAP."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from checks import ktap
from harness.core.folders import ROOT
from harness.core.options import Options
from harness.core.progress import announce, say
from harness.kernel.images import Kernel
from harness.vm.accel import choose_accel
from harness.vm.console import list_messages
from harness.vm.devices import PAIR
from harness.vm.guest import Guest, boot_guest, need_memory
from harness.vm.initramfs import compile_program, make_initramfs
from harness.vm.userland import find_program, pack_programs

PROGRAMS = ("mkfs.ext4", "e2fsck", "dmsetup")
SCRIPT = "robustness"
GIB = 4
REBINDS = 30
LIMIT = 1800
# One call of the guest's check, whose name is written out.
CALL = re.compile(r"^check (\S+)", re.M)


@dataclass(frozen=True)
class Checks:
    """What the guest told of: the checks in their order, and the errors that the parser counted.

    whys says of each check, by its name, why it did not pass. It is empty if it did.
    """

    whys: Mapping[str, str]
    errors: int


def list_checks(scripts: str) -> list[str]:
    """Return the checks that scripts, NAME,NAME..., call: what the guest plans too."""
    return [
        name
        for script in scripts.split(",")
        for name in CALL.findall((ROOT / "guest" / script).read_text())
    ]


def make_image(options: Options, source: Path) -> Path:
    """Return the initramfs for guest/robustness; Raises UserError if a program is missing."""
    more = pack_programs(*(find_program(name, "tools") for name in PROGRAMS))
    return make_initramfs(options, source, SCRIPT, more | compile_program(options, "use"))


def read_checks(source: Path, console: str, log: Path) -> Checks:
    """Return what a console tells of the checks, read by the parser of the worktree source.

    Raises UserError unless the guest began once to tell results; log keeps the console.
    """
    lines = list_messages(console)
    report = ktap.read_stream(source, lines, SCRIPT, log)
    whys = {}
    for path, status in report.cases:
        name = path[-1]
        # The parser puts a case without a name where a planned one is missing.
        if name:
            about = [lines[number] for number in ktap.find_lines(lines, name)]
            whys[name] = "" if status == "PASS" else "\n".join([f"{name}: {status}", *about])
    return Checks(whys, report.errors)


def explain_check(checks: Checks, name: str) -> str:
    """Return why a check did not pass, empty if it did."""
    return checks.whys.get(name, f"{name}: the guest did not get to this check")


def explain_plan(checks: Checks, planned: Sequence[str]) -> str:
    """Return in what the guest did not keep to the plan, empty if it did."""
    told = [f"{name}: not told of" for name in planned if name not in checks.whys]
    told += [f"{name}: not planned" for name in checks.whys if name not in planned]
    if not told and [*checks.whys] != [*planned]:
        told = [f"told of: {', '.join(checks.whys)}", f"planned: {', '.join(planned)}"]
    if checks.errors:
        told += [f"errors that the parser found in numbers or plan: {checks.errors}"]
    return "\n".join(told)


def judge(source: Path, console: str, log: Path, scripts: str) -> str:
    """Return in what a boot with scripts was not as planned, empty if it was.

    source and log are those of read_checks().
    """
    checks, planned = read_checks(source, console, log), list_checks(scripts)
    told = [explain_check(checks, name) for name in planned]
    return "\n".join(filter(None, [*told, explain_plan(checks, planned)]))


def say_result(spoken: str) -> None:
    """Print what the guest says if it is the result of a check."""
    if re.match(r"(?:not )?ok \d+ ", spoken):
        say(spoken)


def run_checks(options: Options, source: Path, kernel: Kernel, initramfs: Path) -> Checks:
    """Boot with two devices and return the checks that guest/robustness told of."""
    need_memory(GIB, PAIR)
    words = f"zdm.do={SCRIPT} zdm.rebinds={REBINDS}"
    log = options.build / f"{SCRIPT}-{kernel.name}.log"
    accel = choose_accel(options, kernel, initramfs)
    guest = Guest(kernel, initramfs, accel, GIB, words, devices=PAIR)
    announce(f"robustness: {kernel.name}, two devices of {GIB} GiB")
    return read_checks(source, boot_guest(guest, log, say_result, LIMIT), log)
