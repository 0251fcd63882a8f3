# SPDX-License-Identifier: GPL-2.0
"""Makes sure of what a target of make needs: commands and headers, and a Python environment.

Usage: python3 -m harness.setup WHAT, with WHAT one of NEEDS. The system's own Python runs it,
before there is any other: it takes the standard library alone. Where there is apt-get, it installs
the packages of what is missing; elsewhere it names them.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.core.architectures import ARCHITECTURES, GUESTS, LLVM, get_machine
from harness.core.cache import digest, remove, replace
from harness.core.command import make_environment, run
from harness.core.debian import KEYRING
from harness.core.errors import UserError
from harness.core.folders import ROOT, lock_build
from harness.core.options import Options, read_options
from harness.core.progress import announce
from harness.core.stages import run_program

PYTHON = Path("/usr/bin/python3")
VERSION = repr(sys.version_info)
REQUIREMENTS = ROOT / "harness/requirements"
BASE = (
    *("build-essential", "bc", "bison", "flex", "libelf-dev", "git", "ccache", "cpio", "rsync"),
    *("xz-utils", "ndctl", "daxctl", "busybox-static", "python3-venv"),
)
# What only apt needs: to fetch the kernel's source, and to verify and unpack it.
FETCHING = ("debian-archive-keyring", "dpkg-dev")
CLANG = (f"clang{LLVM}", f"lld{LLVM}", f"llvm{LLVM}")
REVIEWERS = ("codespell", "coccinelle", "shellcheck", "sparse")
QEMU = get_machine(GUESTS[0]).packages
# What compiles for each guest.
CROSS = [package for guest in GUESTS for package in ARCHITECTURES[guest].packages]
TESTERS = (*QEMU, *CROSS, *CLANG, *REVIEWERS, "qemu-user", "e2fsprogs", "dmsetup")
EVERY = (
    *(package for one in ARCHITECTURES.values() for package in one.packages),
    *(package for guest in GUESTS for package in get_machine(guest).packages),
)
# What shows that a package is there, or its counterpart: a command, a file, a module of Python, or
# a compiler and a header that it finds. Without a row here, it is the command of that name.
SIGNS = {
    "build-essential": "gcc stdio.h",
    "libelf-dev": "gcc gelf.h",
    "xz-utils": "xz",
    "busybox-static": "busybox",
    "python3-venv": "import ensurepip",
    "debian-archive-keyring": str(KEYRING),
    "dpkg-dev": "dpkg-source",
    f"lld{LLVM}": f"ld.lld{LLVM}",
    f"llvm{LLVM}": f"llvm-objcopy{LLVM}",
    "coccinelle": "spatch",
    "qemu-user": "qemu-aarch64",
    "e2fsprogs": "mke2fs",
    "libc6-dev-arm64-cross": "aarch64-linux-gnu-gcc stdio.h",
    "qemu-system-x86": "qemu-system-x86_64",
    "qemu-system-arm": "qemu-system-aarch64",
    "qemu-efi-aarch64": str(get_machine("arm64").firmware),
}
# The lists of Python packages below REQUIREMENTS, each on top of those before it.
LISTS = ("bench", "build", "test", "test-all")
PIP = (
    *("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"),
    # dkimpy alone has no wheel. It is built with what the list `build` pins.
    *("--only-binary=:all:", "--no-binary=dkimpy", "--use-pep517", "--no-build-isolation", "-r"),
)
# A source of apt that has nothing to do with us may be broken, so its update may fail.
APT = (
    'apt-get -q update || echo "warning: apt-get update failed (see above)" >&2; '
    'apt-get -q -y --no-install-recommends install "$@"'
)


@dataclass(frozen=True)
class Need:
    """What a target needs on top of BASE and the packages of ARCH.

    optional packages are those that it can do without, python is the last of LISTS that it needs.
    builds says that it builds kernels.
    """

    packages: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    python: str = LISTS[0]
    builds: bool = True


# Single stages and the replay are like bench.
NEEDS = {
    "bench": Need(),
    "check": Need(REVIEWERS, python="test", builds=False),
    "outbox": Need(python="test", builds=False),
    "review": Need((*QEMU, *REVIEWERS), python="test"),
    "test": Need(TESTERS, python="test"),
    "test-all": Need(TESTERS, EVERY, python="test-all"),
}


def has_apt() -> bool:
    """Tell whether packages are installed by apt-get here."""
    return bool(shutil.which("apt-get"))


def list_packages(need: Need, arch: str) -> list[str]:
    """Return the packages that a target cannot do without when ARCH=arch, each once."""
    guest = (*get_machine(arch).packages, *ARCHITECTURES[arch].packages)
    return list(dict.fromkeys((*BASE, *FETCHING * has_apt(), *guest, *need.packages)))


def name_sign(package: str) -> str:
    """Return the entry of SIGNS for a package; a cross compiler's is PREFIX-gcc."""
    return SIGNS.get(package) or re.sub(r"^gcc-(.+)", r"\1-gcc", package)


def is_there(sign: str) -> bool:
    """Tell whether what shows that a package is there is there."""
    first, _, second = sign.partition(" ")
    if first == "import":
        return bool(importlib.util.find_spec(second))
    # A user's PATH need not have the commands of root.
    found = shutil.which(first, os.F_OK, f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if not second or not found:
        return bool(found)
    include = [found, "-fsyntax-only", "-include", second, "-xc", "/dev/null"]
    return not subprocess.run(include, env=make_environment(), capture_output=True).returncode


def find_missing(packages: Iterable[str]) -> list[str]:
    """Return the packages of which nothing is there."""
    return [package for package in dict.fromkeys(packages) if not is_there(name_sign(package))]


def install_packages(packages: Sequence[str]) -> None:
    """Install packages with one line of apt-get, all or none; Raises UserError when it fails."""
    announce(f"installing packages: {' '.join(packages)}")
    root = [] if os.geteuid() == 0 else ["sudo"]
    advice = f"as root, run 'apt-get install {' '.join(packages)}', then this again"
    if root and not shutil.which("sudo"):
        raise UserError(f"packages are missing, and there is no sudo: {advice}")
    # sudo drops the environment. Popen does not kill apt-get when we are interrupted.
    command = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "sh", "-c", APT, "sh", *packages]
    with subprocess.Popen(command, env=make_environment(), stdin=subprocess.DEVNULL) as child:
        if child.wait():
            raise UserError(f"packages could not be installed (see above): {advice}")


def provide_packages(packages: Sequence[str], optional: Sequence[str]) -> None:
    """Install packages, and of the optional ones those that can be had; warn of the others.

    Raises UserError when one of packages is not there and cannot be installed.
    """
    if packages and not has_apt():
        names = ", ".join(f"{name_sign(name)} (Debian's {name})" for name in packages)
        raise UserError(f"install these and run this again: {names}")
    if packages:
        install_packages(packages)
        if left := find_missing(packages):
            raise UserError(f"{', '.join(map(name_sign, left))} is missing, but was installed")
    for package in optional:
        try:
            if not has_apt():
                raise UserError(f"{name_sign(package)} (Debian's {package}) is missing")
            install_packages([package])
        except UserError as fault:
            print(f"warning: {fault}; what needs it is skipped", file=sys.stderr, flush=True)


def list_requirements(last: str) -> list[Path]:
    """Return the lists of Python packages up to the one called last."""
    return [REQUIREMENTS / f"{name}.txt" for name in LISTS[: LISTS.index(last) + 1]]


def name_environment(build: Path, last: str) -> str:
    """Return the name of the folder with the Python packages up to the list last.

    It stands for the lists, for the Python that runs this, and for the folder's own place, which
    its programs name.
    """
    lists = (path.read_bytes() for path in list_requirements(last))
    return f"venv-{last}-{digest(VERSION, str(build), *lists)}"


def has_environment(build: Path, last: str) -> bool:
    """Tell whether the environment has at least the lists up to last, as they are now."""
    names = [name_environment(build, name) for name in LISTS[LISTS.index(last) :]]
    return (build / "venv").resolve().name in names and (build / "venv/bin/python").exists()


def install_lists(folder: Path, last: str, log: Path) -> None:
    """Install the Python packages up to the list last in folder; Raises UserError if pip cannot."""
    for path in list_requirements(last):
        try:
            run([folder / "bin/python", *PIP, path], f"installing {path} with pip", log=log)
        except UserError as fault:
            lost = "Retrying" in log.read_text()
            raise UserError(f"{fault}{': check the network' * lost}") from None


def make_environment_anew(build: Path, last: str) -> None:
    """Make BUILD/venv with the Python packages up to the list last; the lock must be held.

    It is a link, set when all is there, as programs of an environment cannot be moved. If that
    fails, what was there before stays.
    """
    announce(f"installing the Python environment in {build / 'venv'}")
    made = build / name_environment(build, last)
    remove(made)
    try:
        run([PYTHON, "-m", "venv", made], f"{PYTHON} -m venv")
        install_lists(made, last, build / "venv.log")
        with replace(build / "venv") as link:
            link.symlink_to(made.name)
    except BaseException:
        remove(made)
        raise
    for other in build.glob("venv-*"):
        if other != made:
            remove(other)


def provide(what: str, options: Options) -> None:
    """Install what a target needs and this machine lacks.

    Raises UserError when something is missing and cannot be installed, and on a host that is not
    x86-64, whose compiler and programs the guests would get.
    """
    need = NEEDS[what]
    if need.builds and os.uname().machine != "x86_64":
        raise UserError(
            f"this host is {os.uname().machine}: kernels are built on x86-64 hosts only"
        )

    def lack() -> tuple[list[str], list[str], bool]:
        missing = find_missing(list_packages(need, options.arch))
        optional = [package for package in find_missing(need.optional) if package not in missing]
        return missing, optional, not has_environment(options.build, need.python)

    # Nothing is locked, and nobody is kept waiting, when all is there.
    if not any(lack()):
        return
    with lock_build(options.build):
        missing, optional, bare = lack()
        provide_packages(missing, optional)
        if bare:
            make_environment_anew(options.build, need.python)


if __name__ == "__main__":
    run_program(lambda: provide(sys.argv[1], read_options()))
