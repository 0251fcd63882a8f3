# SPDX-License-Identifier: GPL-2.0
"""The guest's file system: guest/init and its scripts, its programs, and the series' selftest."""

import stat
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from harness.core import ROOT, Options, announce, compile_program, run
from harness.core.cache import replace
from harness.kernel.configs import BOOTED
from harness.vm.userland import collect_programs, find_program

# In the guest, a selftest lies as it does in the kernel's tools/testing/selftests.
SELFTESTS = "tools/testing/selftests"
SELFTEST = ("mm/zone_device_memmap.sh", "kselftest/ktap_helpers.sh")


def make_entry(name: str, mode: int, number: int, data: bytes = b"") -> bytes:
    """Return one member of a cpio archive in the newc format, which the kernel unpacks."""
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    return head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4)


def pack_archive(files: dict[str, bytes], links: dict[str, str]) -> bytes:
    """Return a cpio archive of executable files and links, the same bytes for the same input."""
    folders = {str(parent) for name in [*files, *links] for parent in Path(name).parents} - {"."}
    members = [
        (name, stat.S_IFDIR | 0o755, b"")
        for name in sorted(folders | {"proc", "sys", "dev", "tmp"})
    ]
    members += [(name, stat.S_IFREG | 0o755, data) for name, data in sorted(files.items())]
    members += [(name, stat.S_IFLNK | 0o777, to.encode()) for name, to in sorted(links.items())]
    return b"".join(
        make_entry(name, mode, number, data)
        for number, (name, mode, data) in enumerate([*members, ("TRAILER!!!", 0, b"")], 1)
    )


def make_initramfs(
    options: Options,
    source: Path,
    name: str = "initramfs",
    more: Mapping[str, bytes] = MappingProxyType({}),
) -> Path:
    announce("making the initramfs")
    files = {f"guest/{script.name}": script.read_bytes() for script in (ROOT / "guest").iterdir()}
    files["init"] = files.pop("guest/init")
    files |= {name: (source / SELFTESTS / name).read_bytes() for name in SELFTEST}
    output, gcc = options.build / f"hold-{options.arch}", BOOTED[options.arch].tools.cc
    hold = compile_program(ROOT / "guest/hold.c", output, "-static", gcc=gcc)
    files |= collect_programs(options) | {"bin/hold": hold.read_bytes()} | dict(more)
    # The guest's busybox is of the host's Debian release, so it has the same applets.
    applets = run([find_program("busybox"), "--list"], "busybox --list").split()
    links = {f"bin/{applet}": "busybox" for applet in applets if f"bin/{applet}" not in files}
    archive = options.build / f"{name}-{options.arch}.cpio"
    with replace(archive) as new:
        new.write_bytes(pack_archive(files, links))
    return archive
