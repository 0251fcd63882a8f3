# SPDX-License-Identifier: GPL-2.0
"""Makes sure of what a target of make needs: packages, and a Python environment.

Usage: python3 -m harness.setup WHAT, with WHAT one of NEEDS. The system's own Python runs it,
before there is any other: it takes the standard library alone. It finds what is missing, and
installs it with one line of apt-get.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.core.architectures import ARCHITECTURES, GUESTS, LLVM, get_machine
from harness.core.cache import digest, remove
from harness.core.command import make_environment, run
from harness.core.errors import UserError
from harness.core.folders import ROOT, lock_build
from harness.core.options import Options, read_options
from harness.core.progress import announce, say
from harness.core.stages import run_program

PYTHON = Path("/usr/bin/python3")
# To fetch the kernel's source. git brings perl; the keyring is to verify what apt fetches.
SOURCE = ("git", "xz-utils", "debian-archive-keyring")
# To compile a kernel's objects.
OBJECTS = (
    *("gcc", "libc6-dev", "make", "bc", "bison", "flex", "libelf-dev", "libssl-dev"),
    *SOURCE,
)
# What runs in a guest; list_packages() adds what runs the guest of ARCH=, and compiles for it.
GUEST = ("ndctl", "daxctl", "busybox-static")
VENV = ("python3-venv",)
REVIEWERS = ("codespell", "shellcheck", "sparse")
CLANG = (f"clang{LLVM}", f"lld{LLVM}", f"llvm{LLVM}")
# What builds ndctl's own tests (harness/cells/ndctl.py), and what they run.
NDCTL = (
    *("meson", "pkg-config", "uuid-dev", "libiniparser-dev", "libjson-c-dev", "libkeyutils-dev"),
    *("libkmod-dev", "libudev-dev", "jq", "trace-cmd"),
)
# What makes a Debian package of a kernel, besides OBJECTS: docs/package.md.
PACKAGE = ("debhelper", "kmod", "libdw-dev", "rsync")
CELLS = (
    *(*OBJECTS, *GUEST, *VENV, *REVIEWERS, *CLANG),
    *("debootstrap", "dmsetup", "e2fsprogs", "libnuma-dev", "qemu-user"),
    # test_kunit.py boots x86-64, and objects are compiled for each guest.
    *get_machine(GUESTS[0]).packages,
    *(package for guest in GUESTS for package in ARCHITECTURES[guest].packages),
)
# The packages that a target needs. Single stages are like objects or bench.
NEEDS: dict[str, tuple[str, ...]] = {
    "list": (),
    "clean": (),
    "objects": OBJECTS,
    "bench": (*OBJECTS, *GUEST),
    "tables": VENV,
    "outbox": (*SOURCE, *VENV),
    "check": (*SOURCE, *VENV, *REVIEWERS, "gcc", "libc6-dev"),
    "review": (*OBJECTS, *VENV, *REVIEWERS, *GUEST),
    "test": CELLS,
    "test-all": (
        *(*CELLS, *NDCTL, *PACKAGE, "kexec-tools"),
        *(package for one in ARCHITECTURES.values() for package in one.packages),
        *(package for guest in GUESTS for package in get_machine(guest).packages),
    ),
}
# What builds no kernel.
WITHOUT_KERNEL = ("list", "clean", "tables", "check", "outbox")
# What is installed by pip: first what builds dkimpy, the one package that has no wheel.
LISTS = [ROOT / f"harness/requirements/{name}.txt" for name in ("build", "packages")]
PIP = (
    *("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"),
    *("--only-binary=:all:", "--no-binary=dkimpy", "--use-pep517", "--no-build-isolation", "-r"),
)
# A source of apt that has nothing to do with us may be broken, so its update may fail.
APT = (
    'apt-get -q update || echo "warning: apt-get update failed (see above)" >&2; '
    'apt-get -q -y --no-install-recommends install "$@"'
)


def list_packages(what: str, arch: str) -> list[str]:
    """Return the packages that a target needs when ARCH=arch, each once."""
    packages = [*NEEDS[what]]
    if {*GUEST} <= {*packages}:
        packages += (*get_machine(arch).packages, *ARCHITECTURES[arch].packages)
    return list(dict.fromkeys(packages))


def find_missing(packages: Sequence[str]) -> list[str]:
    """Return the packages that are not installed. On a system without dpkg, only name them all."""
    command = ["dpkg-query", "-W", "-f", "${Package}=${db:Status-Status}\n", *packages]
    if not shutil.which(command[0]):
        say(f"there is no dpkg: these have to be there, by Debian's names: {' '.join(packages)}")
        return []
    states = subprocess.run(command, capture_output=True, text=True).stdout.split()
    return [package for package in packages if f"{package}=installed" not in states]


def install_packages(packages: Sequence[str]) -> None:
    """Install packages with one line of apt-get; Raises UserError with it, if that fails."""
    announce(f"installing packages: {' '.join(packages)}")
    root = [] if os.geteuid() == 0 else ["sudo"]
    # sudo drops the environment. Popen does not kill apt-get when we are interrupted.
    command = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "sh", "-c", APT, "sh", *packages]
    status = 1
    if not root or shutil.which("sudo"):
        with subprocess.Popen(command, env=make_environment(), stdin=subprocess.DEVNULL) as child:
            status = child.wait()
    if status:
        line = f"apt-get install {' '.join(packages)}"
        raise UserError(f"packages could not be installed: as root, run '{line}', then this again")


def find_key(build: Path) -> str:
    """Return what the environment stands for: the lists, this Python, and the folder's place."""
    return digest(repr(sys.version_info), str(build), *(path.read_bytes() for path in LISTS))


def install_venv(build: Path) -> None:
    venv = build / "venv"
    announce(f"installing the Python environment in {venv}")
    remove(venv)
    run([PYTHON, "-m", "venv", venv], f"{PYTHON} -m venv")
    for path in LISTS:
        what = f"installing {path} with pip (is the network there?)"
        run([venv / "bin/python", *PIP, path], what, log=build / "venv.log")
    (venv / "key").write_text(find_key(build))


def provide(what: str, options: Options) -> None:
    """Install what a target needs and this machine lacks.

    Raises UserError when something cannot be installed, and on a host that is not x86-64, whose
    compiler and programs the guests would get.
    """
    if what not in WITHOUT_KERNEL and os.uname().machine != "x86_64":
        raise UserError(
            f"this host is {os.uname().machine}: kernels are built on x86-64 hosts only"
        )
    packages = find_missing(list_packages(what, options.arch))
    key = options.build / "venv/key"
    known = key.read_text() if key.exists() else ""
    bare = {*VENV} <= {*NEEDS[what]} and known != find_key(options.build)
    # Nothing is locked, and nobody is kept waiting, when all is there.
    if not packages and not bare:
        return
    with lock_build(options.build):
        if packages:
            install_packages(packages)
        if bare:
            install_venv(options.build)


if __name__ == "__main__":
    run_program(lambda: provide(sys.argv[1], read_options()))
