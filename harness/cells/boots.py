# SPDX-License-Identifier: GPL-2.0
"""Boots in which scripts of guest/ run, and what these tell of their checks.

A script says at its top what it needs, in lines that begin with "#: " and together are TOML. Keys
before the first table hold for each boot that the script is in, and each table is a boot, by its
name, in which the script is the last one. CONTRIBUTING.md explains the keys.
"""

import re
import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, NamedTuple

from harness.cells import ndctl, selftests
from harness.core import ROOT, Options, UserError, announce, say
from harness.kernel.config import KernelConfig
from harness.kernel.configs import TESTED, VM_KERNELS
from harness.kernel.images import Kernel
from harness.vm.accel import choose_accel
from harness.vm.console import is_splat, list_messages
from harness.vm.devices import Device
from harness.vm.guest import RAM_GIB, Guest, announce_stage, boot_guest, need_memory
from harness.vm.initramfs import SELFTESTS, make_initramfs
from harness.vm.monitor import pass_command
from harness.vm.userland import PATH, find_program, pack_programs

GUEST = ROOT / "guest"
LIMIT = 3600
# Lines of KTAP, as guest/checks writes them. The kernel's selftest begins with another version.
BEGIN = "KTAP version 1"
PLAN = re.compile(r"1\.\.[1-9]\d*")
RESULT = re.compile(r"(?:not )?ok \d+ - (?P<name>\S+)")
# Sizes and addresses may differ from boot to boot.
NUMBER = re.compile(r"(?<![\w-])(?:0x)?[0-9a-f]{4,}\b")
# What is built for a guest.
BUILT = {"selftests": selftests, "ndctl": ndctl}
# The kernels of each cell that a boot makes.
SIDES = {
    "series": {"": ["series"]},
    "each": {"-base": ["base"], "-series": ["series"]},
    "same": {"": ["base", "series"]},
}
# What each script adds to those before it. Of the other keys, the last one counts.
ADDED = ("words", "qemu", "programs", "selftests")
CHOICES: dict[str, Mapping[str, object]] = {"sides": SIDES, "kernel": VM_KERNELS, "built": BUILT}
DEVICE = re.compile(r"[\w-]+:(?:fsdax|devdax):\d+(?::\d+)?")


@dataclass(frozen=True)
class Boot:
    """What to boot and what to run in it.

    scripts, NAME,NAME..., are those of guest/, and words are for the kernel's command line. The
    guest has programs of the host, files of the kernel's selftests, what is built, and with image
    the kernel itself. There are devices of gib GiB each, and ram_gib GiB of RAM. args are for QEMU.
    The guest may take host_gib GiB of the host's memory, or else ram_gib, and memmaps. It may be
    silent for silence seconds. harmless says that a line is no fault although it looks like one.
    sides is one of SIDES.
    """

    scripts: str = ""
    words: str = ""
    config: KernelConfig = TESTED
    programs: Sequence[str] = ()
    selftests: Sequence[str] = ()
    built: str = ""
    image: bool = False
    gib: float = 0
    devices: Sequence[Device] = ()
    ram_gib: int = RAM_GIB
    host_gib: int = 0
    cpus: int = 2
    nodes: int = 1
    args: Sequence[str] = ()
    silence: float = 300
    harmless: Callable[[str], object] = lambda _: False
    sides: str = "series"
    in_make_test: bool = False

    def missing(self) -> list[str]:
        programs = [name for name in self.programs if not shutil.which(name, path=PATH)]
        return programs + (BUILT[self.built].missing() if self.built else [])

    def pack(self, options: Options, source: Path) -> dict[str, bytes]:
        """Return what the guest has besides, by path; source is the worktree with the selftests."""
        files = {name: (source / SELFTESTS / name).read_bytes() for name in self.selftests}
        if self.programs:
            files |= pack_programs(*(find_program(name, "tools-all") for name in self.programs))
        return files | (BUILT[self.built].pack(options, source) if self.built else {})


class Cell(NamedTuple):
    """A test of one boot: the boot's name, and which kernels have to tell the same."""

    name: str
    boot: Boot
    sides: list[str]


class Key(NamedTuple):
    """The type of a key's value, and the field of Boot that read, which may raise, makes of it."""

    kind: type
    field: str
    read: Callable[[Any], Any] = lambda value: value


def read_devices(text: str) -> list[Device]:
    """Return the devices that a text tells; Raises ValueError if it does not."""
    words = text.split()
    if wrong := [word for word in words if not DEVICE.fullmatch(word)]:
        raise ValueError(f"{wrong[0]} is not NAME:MODE:ALIGN or NAME:MODE:ALIGN:NODE")
    fields = (word.split(":") for word in words)
    return [Device(name, mode, *map(int, numbers)) for name, mode, *numbers in fields]


# The keys of a header. Boot has what holds if no script has a key. A text is a list of words.
KEYS = {
    # Scripts that run before, which kernels boot, and whether make test does so, too.
    "after": Key(str, "scripts"),
    "sides": Key(str, "sides"),
    "in-make-test": Key(bool, "in_make_test"),
    # One of VM_KERNELS, what its command line has, and what QEMU's.
    "kernel": Key(str, "config", VM_KERNELS.get),
    "words": Key(str, "words", lambda text: " ".join(text.split())),
    "qemu": Key(str, "args", str.split),
    "cpus": Key(int, "cpus"),
    "nodes": Key(int, "nodes"),
    # RAM, and how much of the host's memory the guest may take, if not as much.
    "ram-gib": Key(int, "ram_gib"),
    "host-gib": Key(int, "host_gib"),
    # NAME:MODE:ALIGN or NAME:MODE:ALIGN:NODE for each, with ALIGN in MiB, and the size of one.
    "devices": Key(str, "devices", read_devices),
    "device-gib": Key(float, "gib"),
    # Of the host; files of the kernel's selftests; one of BUILT; the kernel's image, as /kernel.
    "programs": Key(str, "programs", str.split),
    "selftests": Key(str, "selftests", str.split),
    "built": Key(str, "built"),
    "image": Key(bool, "image"),
    # Seconds without a line, and a pattern of complaints that are none.
    "silence": Key(int, "silence"),
    "harmless": Key(str, "harmless", lambda text: re.compile(text or "(?!)").search),
}


def check_keys(script: Path, table: Mapping[str, Any]) -> None:
    """Raise UserError on a key that there is not, and on a value that a key cannot have."""
    for key, value in table.items():
        if key not in KEYS:
            raise UserError(f"{script}: there is no key {key}: they are {', '.join(KEYS)}")
        kind, line = KEYS[key].kind, f"{script}: {key} = {value!r}"
        if type(value) is not kind and (type(value), kind) != (int, float):
            raise UserError(f"{line} must be of type {kind.__name__}")
        if value not in CHOICES.get(key, [value]):
            raise UserError(f"{line} must be one of {', '.join(CHOICES[key])}")
        try:
            KEYS[key].read(value)
        except (ValueError, re.error) as error:
            raise UserError(f"{line}: {error}") from None
    for name in table.get("after", "").split():
        if not (script.parent / name).exists():
            raise UserError(f"{script}: there is no script {name} for it to run after")


def read_header(script: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return what a script needs, and its boots by name; Raises UserError as above."""
    lines = re.findall(r"^#: ?(.*)", script.read_text(), re.M)
    try:
        header = tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{script}: lines '#: ' are not TOML: {error}") from None
    tables = {key: value for key, value in header.items() if isinstance(value, dict)}
    needs = {key: value for key, value in header.items() if key not in tables}
    for table in (needs, *tables.values()):
        check_keys(script, table)
    return needs, tables


def list_needs(script: Path) -> Iterator[dict[str, Any]]:
    """Yield what the scripts need that a script sources, and then what it needs itself."""
    for name in re.findall(r"^\. /guest/(\S+)$", script.read_text(), re.M):
        yield from list_needs(script.with_name(name))
    yield read_header(script)[0]


def make_boot(script: Path, own: Mapping[str, Any] = MappingProxyType({})) -> Boot:
    """Return the boot whose last script this is, and which needs own besides.

    Raises UserError as read_header() does.
    """
    before = (read_header(script)[0] | {**own}).get("after", "").split()
    scripts = [*(script.with_name(name) for name in before), script]
    keys: dict[str, Any] = {}
    for table in [*(table for one in scripts for table in list_needs(one)), own]:
        for key, value in table.items():
            keys[key] = f"{keys.get(key, '')} {value}" if key in ADDED else value
    fields = {KEYS[key].field: KEYS[key].read(value) for key, value in keys.items()}
    return Boot(**fields | {"scripts": ",".join(one.name for one in scripts)})


def read_boots(folder: Path = GUEST) -> dict[str, Boot]:
    """Return all boots by name; Raises UserError as read_header() does, and on a second one."""
    boots: dict[str, Boot] = {}
    for script in sorted(folder.iterdir()):
        for name, own in read_header(script)[1].items():
            if name in boots:
                other = boots[name].scripts
                raise UserError(f"{script}: {name} names a boot of {other}: give it another name")
            boots[name] = make_boot(script, own)
    return boots


def list_cells(boots: Mapping[str, Boot]) -> dict[str, Cell]:
    return {
        name + suffix: Cell(name, boot, sides)
        for name, boot in boots.items()
        for suffix, sides in SIDES[boot.sides].items()
    }


def boot_once(
    options: Options, source: Path, kernel: Kernel, name: str, boot: Boot
) -> tuple[str, Path]:
    """Boot once and return the console's text and its log, which has the name.

    source is the worktree with the selftest. Raises UserError as boot_guest() does.
    """
    need_memory(boot.gib, boot.devices, boot.host_gib or boot.ram_gib)
    script, *_ = boot.scripts.split(",")
    files = boot.pack(options, source) | kernel.pack_modules()
    if boot.image:
        files["kernel"] = kernel.image.read_bytes()
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
    lines = lines[lines.index(BEGIN) :] if BEGIN in lines else []
    plans = [line for line in lines if PLAN.fullmatch(line)]
    results = [match for match in map(RESULT.match, lines) if match]
    faults = []
    for number, result in enumerate(results, 1):
        if result.string != f"ok {number} - {result['name']}":
            faults += [line for line in lines if line.startswith(f"# {result['name']}: ")]
            faults.append(result.string)
    if plans != [f"1..{len(results)}"]:
        last = results[-1].string if results else "none"
        faults.append(f"the plan is {', '.join(plans) or 'none'}, the last result: {last}")
    return "\n".join([*faults, f"(whole console: {log})"] if faults else [])


def read_cases(console: str) -> list[str]:
    """Return what the checks of a boot told besides their results, without what may differ."""
    lines = (line for line in list_messages(console) if line.startswith("# "))
    return [NUMBER.sub("N", line) for line in lines]
