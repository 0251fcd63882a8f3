# SPDX-License-Identifier: GPL-2.0
"""The programs that the guest runs: the host's own, or Debian's for another architecture.

The packages for another architecture are unpacked under build/userland-ARCH-KEY. Nothing is
installed, and dpkg does not learn of the architecture.
"""

import re
import shutil
from pathlib import Path

from harness.core import Options, UserError, announce, run
from harness.core.cache import drop_others, keep, scratch
from harness.core.debian import Apt, find_codename

PROGRAMS = ("busybox", "ndctl", "daxctl")
PACKAGES = ("busybox-static", "ndctl", "daxctl")
# Where programs of the host are.
PATH = "/usr/bin:/bin:/usr/sbin:/sbin"
FOLDERS = ("bin", "sbin", "usr/bin", "usr/sbin")


def find_program(program: str, installer: str = "setup") -> Path:
    """Return the path of a program of the host; Raises UserError, which names what installs it."""
    path = shutil.which(program, path=PATH)
    if not path:
        raise UserError(f"{program} is missing: run 'make {installer}'")
    return Path(path)


def pack_programs(*programs: Path) -> dict[str, bytes]:
    """Return programs of the host and the libraries that they need, by their path in the guest."""
    files = {f"bin/{program.name}": program.read_bytes() for program in programs}
    libraries = re.findall(r"(/\S+) \(0x", run(["ldd", *programs], "ldd"))
    return files | {library[1:]: Path(library).read_bytes() for library in libraries}


def unpack_packages(options: Options) -> Path:
    release = find_codename()

    def make(new: Path) -> None:
        new.mkdir()
        with scratch(options.build / "apt.tmp") as fetched:
            apt = Apt(fetched, arch=options.arch)
            apt.find_version(PACKAGES[0], [release])
            names = ", ".join(PACKAGES)
            announce(f"fetching {names} for {options.arch}, with dependencies (20 MB)")
            for package in apt.fetch_with_dependencies(PACKAGES):
                run(["dpkg-deb", "--extract", package, new], f"unpacking {package.name}")

    root = keep(options.build, f"userland-{options.arch}", [release, *PACKAGES], make)
    drop_others(root)
    return root


def collect_programs(options: Options) -> dict[str, bytes]:
    """Return programs and libraries, by path in the guest; Raises UserError if one is missing."""
    if options.arch == "x86_64":
        busybox, *tools = map(find_program, PROGRAMS)
        if "not a dynamic executable" not in run(["ldd", busybox], "ldd busybox", fine=(0, 1)):
            raise UserError(f"{busybox} is not static: install busybox-static")
        return {"bin/busybox": busybox.read_bytes()} | pack_programs(*tools)
    root, files = unpack_packages(options), {}
    for name in PROGRAMS:
        program = next(
            root / folder / name for folder in FOLDERS if (root / folder / name).exists()
        )
        files[f"bin/{name}"] = program.read_bytes()
    # The loader, too, is looked for in /lib.
    libraries = [*root.glob("lib/*/*.so*"), *root.glob("usr/lib/*/*.so*")]
    files |= {f"lib/{one.name}": one.read_bytes() for one in libraries if one.exists()}
    return files
