# SPDX-License-Identifier: GPL-2.0
"""Packages of a Debian archive, fetched by a private apt with its own lists, cache and sources.

The system's configuration stays as it is. apt verifies the archive's signature against the
installed Debian keyring (apt-secure(8)).
"""

import platform
import shutil
from collections.abc import Sequence
from pathlib import Path

from harness.core.command import run
from harness.core.errors import UserError
from harness.core.progress import announce, say

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def find_codename() -> str:
    """Return the code name of the installed Debian release, or an empty string if it has none."""
    return platform.freedesktop_os_release().get("VERSION_CODENAME", "")


class NotOffered(UserError):
    """No suite offers the package; retrying will not help."""


def list_archives() -> list[str]:
    """Return the addresses of the Debian archives in the system's apt sources, in their order.

    Other vendors use the names of Debian's suites too, so the signed Release file must name Debian
    as origin and label. Raises NotOffered when there is no such archive. Raises UserError when apt
    has no package lists.
    """
    names = {"stable", "testing", "unstable", "sid", find_codename()}
    fields = "$(RELEASE) $(COMPONENT) $(ORIGIN)/$(LABEL) $(REPO_URI)"
    command = ["apt-get", "indextargets", "--format", fields, "Created-By: Packages"]
    rows = [line.split(" ", 3) for line in run(command, "reading apt's sources").splitlines()]
    if not any(len(row) == 4 and row[2] != "/" for row in rows):
        raise UserError("apt has no package lists: run 'apt-get update' as root")
    archives = dict.fromkeys(
        row[3]
        for row in rows
        if len(row) == 4 and row[0] in names and row[1:3] == ["main", "Debian/Debian"]
    )
    if not archives:
        raise NotOffered("apt's sources list no Debian archive")
    return list(archives)


class Apt:
    """An apt that keeps its state in folder, which must be empty.

    With arch, apt works as on a machine of that architecture on which nothing is installed. Raises
    NotOffered on a system without apt. Raises UserError when the Debian keyring is not installed.
    """

    def __init__(self, folder: Path, arch: str = "") -> None:
        if not shutil.which("apt-get"):
            raise NotOffered("there is no apt here to fetch packages of Debian")
        if not KEYRING.exists():
            raise UserError(f"{KEYRING} is missing: run 'make setup'")
        for part in ("lists/partial", "cache/archives/partial"):
            (folder / part).mkdir(parents=True)
        private = {
            "Dir::State": folder,
            "Dir::State::status": Path("/var/lib/dpkg/status"),
            "Dir::State::lists": folder / "lists",
            "Dir::Cache": folder / "cache",
            "Dir::Etc::sourcelist": folder / "sources.list",
            "Dir::Etc::sourceparts": "/dev/null",
            "APT::Sandbox::User": "",
            "APT::Update::Error-Mode": "any",
            "APT::Get::AllowUnauthenticated": "false",
            "Acquire::AllowInsecureRepositories": "false",
            "Acquire::Retries": "2",
        }
        if arch:
            private |= {"APT::Architecture": arch, "APT::Architectures": arch}
            private["Dir::State::status"] = folder / "status"
            (folder / "status").touch()
        lines = [f'{name} "{value}";\n' for name, value in private.items()]
        # The system's hooks after an update concern the system's cache, so do not run them.
        (folder / "apt.conf").write_text("#clear APT::Update;\n" + "".join(lines))
        self.folder = folder
        self.options: list[str | Path] = ["-q", "-c", folder / "apt.conf"]

    def read_index(self, kind: str, target: str, archive: str, suite: str) -> None:
        """Read a suite's index of packages (deb, Packages) or of their sources (deb-src, Sources).

        target= limits apt to this index: no Contents, no translations, no AppStream.
        """
        line = f"{kind} [signed-by={KEYRING} target={target}] {archive} {suite} main\n"
        (self.folder / "sources.list").write_text(line)
        run(["apt-get", *self.options, "update"], f"apt-get update for {suite}")

    def find_version(self, package: str, suites: Sequence[str]) -> str:
        """Return the latest version of the package in the first of suites that offers it.

        It then leaves that suite's list loaded for fetch(). Raises NotOffered when no suite offers
        the package. Raises UserError with apt's first complaint when a list could not be read.
        """
        trouble = ""
        for archive in list_archives():
            for suite in suites:
                announce(f"reading the list of packages of Debian {suite}")
                try:
                    self.read_index("deb", "Packages", archive, suite)
                except UserError as error:
                    say(f"skipping Debian {suite}: {error}")
                    trouble = trouble or str(error)
                    continue
                shown = run(["apt-cache", *self.options, "madison", package], "apt-cache")
                rows = [row.split("|") for row in shown.splitlines() if row.count("|") == 2]
                versions = [row[1].strip() for row in rows]
                if versions:
                    return versions[0]
        if trouble:
            raise UserError(f"cannot look for {package} in Debian: check the network ({trouble})")
        raise NotOffered(f"Debian ({', '.join(suites)}) does not offer {package}")

    def fetch(self, package: str, version: str) -> Path:
        """Fetch a package and return the folder that it is unpacked to."""
        command = ["apt-get", *self.options, "download", f"{package}={version}"]
        run(command, f"fetching {package}", cwd=self.folder)
        [file], into = self.folder.glob("*.deb"), self.folder / "package"
        run(["dpkg-deb", "--extract", file, into], f"unpacking {package}")
        return into

    def fetch_source(self, package: str, suites: Sequence[str]) -> Path:
        """Fetch the source of a package, without Debian's changes, and return the archive.

        It is that of the first of suites that still has it: the archive of an old release may list
        files that are gone. Raises UserError with apt's first complaint when none has it.
        """
        trouble = ""
        command = ["apt-get", *self.options, "source", "--download-only", "--tar-only", package]
        for archive in list_archives():
            for suite in suites:
                announce(f"fetching the source of {package} from Debian {suite}")
                try:
                    self.read_index("deb-src", "Sources", archive, suite)
                    run(command, f"fetching the source of {package}", cwd=self.folder)
                except UserError as error:
                    say(f"skipping Debian {suite}: {error}")
                    trouble = trouble or str(error)
                else:
                    return next(self.folder.glob("*.orig.tar.*z"))
        raise UserError(f"cannot fetch the source of {package}: check the network ({trouble})")

    def fetch_with_dependencies(self, packages: Sequence[str]) -> list[Path]:
        """Fetch packages and their dependencies that are not installed, and return the files."""
        args = ["--yes", "--no-install-recommends", "--download-only", "install", *packages]
        run(["apt-get", *self.options, *args], f"fetching {', '.join(packages)}")
        return sorted((self.folder / "cache/archives").glob("*.deb"))
