# SPDX-License-Identifier: GPL-2.0
"""The guest's file system: guest/init, busybox, ndctl and daxctl with their libraries, and the series' selftest."""

import re
import shutil
import stat
from pathlib import Path

from harness.options import Options, start
from harness.process import ROOT, Fault, run, step
from harness.tree import tree

SELFTEST = "zone_device_memmap"


def which(program: str) -> Path:
    """Return the path of a program; Raises Fault if it is not installed."""
    found = shutil.which(program, path="/usr/bin:/bin:/usr/sbin:/sbin")
    if not found:
        raise Fault(f"{program} is missing: run 'make setup'")
    return Path(found)


def libraries(program: Path) -> list[Path]:
    """Return the dynamic loader and the shared libraries that a program needs."""
    return [Path(name) for name in re.findall(r"(/\S+) \(0x", run(["ldd", program], f"ldd {program}"))]


def selftest(options: Options, source: Path) -> Path:
    """Return the in-tree selftest, built statically by its own folder's Makefile."""
    step("building the selftest")
    made = options.build / "selftest"
    made.mkdir(exist_ok=True)
    run(
        [
            "make",
            "-C",
            source / "tools/testing/selftests/mm",
            f"OUTPUT={made}",
            "EXTRA_CFLAGS=-static",
            made / SELFTEST,
        ],
        "building the selftest",
        log=options.build / "selftest.log",
    )
    return made / SELFTEST


def entry(name: str, mode: int, number: int, data: bytes = b"") -> bytes:
    """Return one member of a cpio archive in the newc format (initramfs buffer format, kernel documentation)."""
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    return head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4)


def pack(files: dict[str, bytes], links: dict[str, str]) -> bytes:
    """Return a cpio archive of executable files and symbolic links; the same input gives the same bytes."""
    folders = {str(parent) for name in [*files, *links] for parent in Path(name).parents} - {"."}
    members = [(name, stat.S_IFDIR | 0o755, b"") for name in sorted(folders | {"proc", "sys", "dev", "tmp"})]
    members += [(name, stat.S_IFREG | 0o755, data) for name, data in sorted(files.items())]
    members += [(name, stat.S_IFLNK | 0o777, to.encode()) for name, to in sorted(links.items())]
    return b"".join(
        entry(name, mode, number, data)
        for number, (name, mode, data) in enumerate([*members, ("TRAILER!!!", 0, b"")], 1)
    )


def initramfs(options: Options, source: Path) -> Path:
    """Return the initramfs, with the selftest of the worktree source; it is made anew each time, in a second."""
    test = selftest(options, source)
    busybox, tools = which("busybox"), [which("ndctl"), which("daxctl")]
    if "not a dynamic executable" not in run(["sh", "-c", f"ldd {busybox} 2>&1 || :"], "ldd busybox"):
        raise Fault(f"{busybox} is not static: install busybox-static")
    step("making the initramfs")
    files = {
        "init": (ROOT / "guest/init").read_bytes(),
        "bin/busybox": busybox.read_bytes(),
        f"bin/{SELFTEST}": test.read_bytes(),
    }
    for tool in tools:
        files[f"bin/{tool.name}"] = tool.read_bytes()
        files |= {str(library)[1:]: library.read_bytes() for library in libraries(tool)}
    applets = run([busybox, "--list"], "busybox --list").split()
    links = {f"bin/{applet}": "busybox" for applet in applets if f"bin/{applet}" not in files}
    made = options.build / "initramfs.cpio"
    made.with_suffix(".tmp").write_bytes(pack(files, links))
    return made.with_suffix(".tmp").rename(made)


if __name__ == "__main__":
    start(lambda options: initramfs(options, tree(options).series))
