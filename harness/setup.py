# SPDX-License-Identifier: GPL-2.0
"""Installs what a target of make needs: Debian packages, and a Python environment.

Usage: python3 -m harness.setup WHAT, with WHAT one of NEEDS. Debian's own Python runs it, before
there is any other: it takes the standard library alone.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.core.architectures import ARCHITECTURES, GUESTS
from harness.core.cache import digest, remove, replace
from harness.core.command import make_environment, run
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
    *("xz-utils", "debian-archive-keyring", "ndctl", "daxctl", "busybox-static"),
    *("python3", "python3-venv"),
)
CLANG = ("clang-19", "lld-19", "llvm-19")
# A sparse that is too old for the kernel is replaced by a later one under the build folder.
REVIEWERS = ("codespell", "coccinelle", "shellcheck", "sparse")
TESTERS = (*CLANG, *REVIEWERS, "qemu-user", "e2fsprogs", "dmsetup")
# The lists of Python packages below REQUIREMENTS, each on top of those before it.
LISTS = ("bench", "build", "test", "test-all")
# What pip has to know to reach its index.
REACHING = re.compile(
    r"PIP_(CERT|CLIENT_CERT|CONFIG_FILE|DEFAULT_TIMEOUT|EXTRA_INDEX_URL|FIND_LINKS|INDEX_URL"
    r"|NO_INDEX|PROXY|RETRIES|TRUSTED_HOST)"
)

LOCKED = re.compile(r"Could not get lock (/\S*[^\s.])(?:.*held by (process \d+(?: \(.+?\))?))?")
NOT_OFFERED = re.compile(
    r"^E: (?:Unable to locate package (\S+)|Package '?(\S+?)'? has no installation candidate)", re.M
)
NOT_FETCHED = re.compile(r"^E: Failed to fetch (\S+)\s+(.*)", re.M)
# What apt-get update says of a source that it could not read, with or without failing.
NOT_READ = re.compile(r"^(?:E: |W: (?=.*(?:Failed to fetch|GPG error)))(.*)", re.M)
SUMMARY = "Some index files failed to download"
# The exit status of apt-get itself; others are sudo's.
APT_FAILED = 100


@dataclass(frozen=True)
class Need:
    """What a target needs on top of BASE and the packages of ARCH.

    guests are architectures to boot too, cross those to compile for, optional packages are those
    that it can do without, python is the last of LISTS that it needs.
    """

    packages: tuple[str, ...] = ()
    guests: tuple[str, ...] = ()
    cross: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    python: str = LISTS[0]


def list_every() -> tuple[str, ...]:
    """Return the packages of all architectures and their machines."""
    return tuple(
        package
        for architecture in ARCHITECTURES.values()
        for part in (architecture, architecture.machine)
        if part
        for package in part.packages
    )


# Single stages and the replay are like bench.
NEEDS = {
    "bench": Need(),
    "check": Need(REVIEWERS, python="test"),
    "outbox": Need(python="test"),
    "review": Need((*REVIEWERS, *CLANG), GUESTS[:1], python="test"),
    "test": Need(TESTERS, GUESTS[:1], GUESTS, python="test"),
    "test-all": Need(TESTERS, GUESTS[:1], GUESTS, list_every(), python="test-all"),
}


def list_packages(need: Need, arch: str) -> list[str]:
    """Return the packages that a target cannot do without when ARCH=arch, each once."""
    guests = [arch, *need.guests]
    machines = [machine for name in guests if (machine := ARCHITECTURES[name].machine)]
    parts = [
        BASE,
        *(machine.packages for machine in machines),
        *(ARCHITECTURES[name].packages for name in (*guests, *need.cross)),
        need.packages,
    ]
    return list(dict.fromkeys(package for part in parts for package in part))


def find_missing(packages: Iterable[str]) -> list[str]:
    """Return the packages that are not installed."""
    wanted = list(dict.fromkeys(packages))
    if not wanted:
        return []
    # It fails when it does not know one of them.
    shown = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *wanted],
        env=make_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    ).stdout.splitlines()
    return [package for package in wanted if f"{package} installed" not in shown]


def advise(packages: Sequence[str]) -> str:
    """Say what root can do instead of us."""
    return f"as root, run 'apt-get install {' '.join(packages)}', then this again"


class NotRoot(UserError):
    """We are not root and cannot become root; trying it with other packages will not help."""


def find_sudo(packages: Sequence[str]) -> list[str]:
    """Return the words that make a command root's; Raises NotRoot without sudo."""
    if os.geteuid() == 0:
        return []
    if not shutil.which("sudo"):
        raise NotRoot(f"packages are missing, and there is no sudo: {advise(packages)}")
    return ["sudo"]


def run_apt(args: Sequence[str], packages: Sequence[str]) -> tuple[bool, str]:
    """Run apt-get as root and return whether it did what it should, and its output, also shown.

    Raises NotRoot when sudo fails; packages are those that its advice names. The terminal stays
    ours, as sudo asks for the password there.
    """
    sudo = find_sudo(packages)
    said = []
    with subprocess.Popen(
        # sudo drops the environment, and what apt-get says is read below, so is not translated.
        [*sudo, "env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", "apt-get", "-q", *args],
        env=make_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as child:
        assert child.stdout
        for line in child.stdout:
            said.append(line)
            print(line, end="", flush=True)
    if sudo and child.returncode not in (0, APT_FAILED):
        why = said[-1].strip() if said else f"status {child.returncode}"
        raise NotRoot(f"sudo failed ({why}): {advise(packages)}")
    return child.returncode == 0, "".join(said)


def warn(text: str) -> None:
    """Print one line that does not end the run."""
    print(f"warning: {text}", file=sys.stderr, flush=True)


def explain_failure(said: str, unread: Sequence[str], packages: Sequence[str]) -> UserError:
    """Return why apt-get could not install packages, by its output.

    unread is what apt-get update complained of before.
    """
    lacked = sorted({one or other for one, other in NOT_OFFERED.findall(said)})
    locked = LOCKED.search(said) or (lacked and LOCKED.search("\n".join(unread)))
    if locked:
        return UserError(
            f"{locked[2] or 'another program'} holds apt's lock {locked[1]}: "
            "wait until it has ended, and run this again"
        )
    if lacked and unread:
        return UserError(
            f"apt knows no {', '.join(lacked)}, and could not read all of its sources: "
            f"check the network and this source ({unread[0]})"
        )
    if lacked:
        return UserError(
            f"no source of apt has {', '.join(lacked)}: "
            "this needs Debian 12 or later, with its component main in apt's sources"
        )
    if lost := NOT_FETCHED.search(said):
        return UserError(f"apt-get could not fetch {lost[1]} ({lost[2]}): check the network")
    told = [line.removeprefix("E: ") for line in said.splitlines() if line.startswith("E: ")]
    return UserError(
        f"apt-get could not install {', '.join(packages)}: {told[0] if told else 'see above'}"
    )


def install_packages(packages: Sequence[str], unread: Sequence[str]) -> None:
    """Install packages, all or none.

    unread is what apt-get update complained of before. Raises UserError that says why they cannot
    be installed.
    """
    args = ["-y", "--no-install-recommends", "install", *packages]
    fine, said = run_apt(args, packages)
    if not fine:
        raise explain_failure(said, unread, packages)


def update_lists(packages: Sequence[str]) -> list[str]:
    """Read the lists of apt's sources for packages, and return what apt-get update complains of.

    That is warned of and no more: it can be of a source that has nothing to do with us.
    """
    _, said = run_apt(["update"], packages)
    unread = [line for line in dict.fromkeys(NOT_READ.findall(said)) if SUMMARY not in line]
    for line in unread:
        warn(f"apt-get update: {line}")
    return unread


def provide_packages(packages: Sequence[str], optional: Sequence[str]) -> None:
    """Install packages, and of the optional ones those that can be had; warn of the others.

    Raises UserError when one of packages cannot be installed.
    """
    every = [*packages, *optional]
    announce(f"installing packages: {' '.join(every)}")
    try:
        unread = update_lists(every)
        try:
            install_packages(every, unread)
            return
        except UserError:
            if not optional:
                raise
        if packages:
            install_packages(packages, unread)
        for package in optional:
            try:
                install_packages([package], unread)
            except UserError as fault:
                warn(f"{fault}; what needs {package} is skipped")
    except NotRoot as fault:
        if packages:
            raise
        warn(f"{fault}; what needs them is skipped")


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
    link = build / "venv"
    names = [name_environment(build, name) for name in LISTS[LISTS.index(last) :]]
    return link.is_symlink() and os.readlink(link) in names and (link / "bin/python").exists()


def install_lists(folder: Path, last: str, log: Path) -> None:
    """Install the Python packages up to the list last in folder; Raises UserError if pip cannot."""
    reaching = {name: value for name, value in os.environ.items() if REACHING.fullmatch(name)}
    for path in list_requirements(last):
        command: list[str | Path] = [
            *(folder / "bin/python", "-m", "pip", "install"),
            *("--quiet", "--disable-pip-version-check", "--require-hashes"),
            # dkimpy alone has no wheel. It is built with what the list `build` pins.
            *("--only-binary=:all:", "--no-binary=dkimpy", "--use-pep517", "--no-build-isolation"),
            *("-r", path),
        ]
        try:
            run(command, f"installing {path} with pip", log=log, env=reaching)
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

    Raises UserError without dpkg, with the packages whose counterparts are needed, and when
    something cannot be installed.
    """
    need = NEEDS[what]
    packages = list_packages(need, options.arch)
    if not shutil.which("dpkg-query"):
        raise UserError(
            "this needs Debian 12 or later; elsewhere install the counterparts of: "
            f"{' '.join(packages)}"
        )

    def lack() -> tuple[list[str], list[str], bool]:
        missing = find_missing(packages)
        optional = [package for package in find_missing(need.optional) if package not in missing]
        return missing, optional, not has_environment(options.build, need.python)

    # Nothing is locked, and nobody is kept waiting, when all is there.
    if not any(lack()):
        return
    with lock_build(options.build):
        missing, optional, bare = lack()
        if missing or optional:
            provide_packages(missing, optional)
        if bare:
            make_environment_anew(options.build, need.python)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in NEEDS:
        sys.exit(f"usage: {shlex.quote(sys.argv[0])} {'|'.join(NEEDS)}")
    run_program(lambda: provide(sys.argv[1], read_options()))
