# SPDX-License-Identifier: GPL-2.0
"""Boots in which scripts of guest/ run, and what these tell of their checks."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from cells.kunit import TESTED
from harness.core import Options, announce, say
from harness.kernel.config import KernelConfig
from harness.kernel.images import Kernel
from harness.vm.accel import choose_accel
from harness.vm.console import is_splat, list_messages
from harness.vm.devices import PAIR, Device
from harness.vm.guest import RAM_GIB, Guest, announce_stage, boot_guest, need_memory
from harness.vm.initramfs import make_initramfs
from harness.vm.monitor import pass_command
from harness.vm.userland import find_program, pack_programs

LIMIT = 3600
# Lines of KTAP, as guest/checks writes them.
PLAN = re.compile(r"1\.\.[1-9]\d*")
RESULT = re.compile(r"(?:not )?ok \d+ - (?P<name>\S+)")


@dataclass(frozen=True)
class Boot:
    """What to boot and what to run in it.

    scripts, NAME,NAME..., are those of guest/, and words are for the kernel's command line. files()
    returns what the guest has besides, by path. There are devices of gib GiB each, and ram_gib GiB
    of RAM. args are for QEMU; they may add added_gib GiB of RAM. The guest may be silent for
    silence seconds. harmless says that a line is no fault although it looks like one.
    """

    scripts: str = ""
    words: str = ""
    config: KernelConfig = TESTED
    files: Callable[[Options, Path], dict[str, bytes]] = lambda *_: {}
    gib: float = 0
    devices: Sequence[Device] = ()
    ram_gib: int = RAM_GIB
    added_gib: int = 0
    cpus: int = 2
    nodes: int = 1
    args: Sequence[str] = ()
    silence: float = 300
    harmless: Callable[[str], bool] = lambda _: False


def boot_once(
    options: Options, source: Path, kernel: Kernel, name: str, boot: Boot
) -> tuple[str, Path]:
    """Boot once and return the console's text and its log, which has the name.

    source is the worktree with the selftest. Raises UserError as boot_guest() does.
    """
    need_memory(boot.gib, boot.devices, boot.ram_gib + boot.added_gib)
    script, *_ = boot.scripts.split(",")
    files = boot.files(options, source) | kernel.pack_modules()
    image = make_initramfs(options, source, script or "initramfs", files)
    head = kernel, image, choose_accel(options, kernel, image)
    log, what = options.build / f"{name}-{kernel.name}.log", f"{name}: {kernel.name}"
    words = f"zdm.do={boot.scripts} {boot.words}"
    announce(what)
    # Not in the build folder, as the path of a socket has to be short.
    with TemporaryDirectory(prefix="qemu-") as folder:
        monitor = Path(folder) / "monitor"
        args = ("-serial", "stdio", "-qmp", f"unix:{monitor},server=on,wait=off", *boot.args)
        guest = Guest(
            *head, boot.gib, words, boot.ram_gib, boot.devices, args, boot.cpus, boot.nodes
        )

        def handle_message(spoken: str) -> None:
            pass_command(monitor, spoken)
            announce_stage(what, spoken)
            if RESULT.match(spoken):
                say(spoken)

        def is_fault(line: str) -> bool:
            return is_splat(line) and not boot.harmless(line)

        return boot_guest(guest, log, handle_message, LIMIT, boot.silence, is_fault), log


def judge(console: str, log: Path) -> str:
    """Return which checks did not pass, and what the guest told of them; empty if all passed.

    The guest has to tell its plan once, and then a result of each check, in order.
    """
    lines = list_messages(console)
    plans = [line for line in lines if PLAN.fullmatch(line)]
    results = [match for match in map(RESULT.match, lines) if match]
    told = []
    for number, result in enumerate(results, 1):
        if result.string != f"ok {number} - {result['name']}":
            told += [line for line in lines if line.startswith(f"# {result['name']}: ")]
            told.append(result.string)
    if plans != [f"1..{len(results)}"]:
        last = results[-1].string if results else "none"
        told.append(f"the plan is {', '.join(plans) or 'none'}, the last result: {last}")
    return "\n".join([*told, f"(whole console: {log})"] if told else [])


def pack_robustness(options: Options, _: Path) -> dict[str, bytes]:
    tools = (find_program(name, "tools") for name in ("mkfs.ext4", "e2fsck", "dmsetup", "dash"))
    return pack_programs(*tools)


# What the selftest must withstand.
ROBUSTNESS = Boot(
    "robustness", "zdm.rebinds=30", files=pack_robustness, gib=4, devices=PAIR, silence=60
)
