# SPDX-License-Identifier: GPL-2.0
"""Packages of a Debian archive, fetched by an apt with lists, cache and sources of its own.

So the system's configuration stays as it is, while apt verifies the archive's
signature against the installed Debian keyring (apt-secure(8)).
"""

import re
from collections.abc import Sequence
from pathlib import Path

from harness.core.command import run
from harness.core.errors import UserError
from harness.core.progress import announce, say

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def find_codename() -> str:
    """Return the name of the installed Debian release, empty if it has none."""
    match = re.search(r"^VERSION_CODENAME=(\w+)", Path("/etc/os-release").read_text(), re.M)
    return match[1] if match else ""


class NotOffered(UserError):
    """No suite offers the package; retrying will not help."""


def list_archives() -> list[str]:
    """Return the addresses of the Debian archives in the machine's own apt sources, in their order.

    Other vendors use the names of Debian's suites too, so the signed Release file has to name
    Debian as origin and label. Raises NotOffered if there is no such archive, UserError if apt has
    no list at all.
    """
    names = {"stable", "testing", "unstable", "sid", find_codename()}
    fields = "$(RELEASE) $(COMPONENT) $(ORIGIN)/$(LABEL) $(REPO_URI)"
    command = ["apt-get", "indextargets", "--format", fields, "Created-By: Packages"]
    rows = [line.split(" ", 3) for line in run(command, "reading apt's sources").splitlines()]
    if not any(len(row) == 4 and row[2] != "/" for row in rows):
        raise UserError("apt has no list of any archive: run 'apt-get update' as root")
    found = dict.fromkeys(
        row[3]
        for row in rows
        if len(row) == 4 and row[0] in names and row[1:3] == ["main", "Debian/Debian"]
    )
    if not found:
        raise NotOffered("apt's sources list no Debian archive")
    return list(found)


class Apt:
    """An apt whose state lies under folder, an empty folder; source packages if kind is deb-src.

    With arch, apt takes the machine for one of that architecture on which nothing is installed.
    """

    def __init__(self, folder: Path, kind: str = "deb", arch: str = "") -> None:
        if not KEYRING.exists():
            raise UserError(f"{KEYRING} is missing: run 'make setup'")
        for part in ("lists/partial", "cache/archives/partial"):
            (folder / part).mkdir(parents=True)
        private = {
            "Dir::State": folder,
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
        status = Path("/var/lib/dpkg/status")
        if arch:
            private |= {"APT::Architecture": arch, "APT::Architectures": arch}
            status = folder / "status"
            status.touch()
        lines = [f'{name} "{value}";\n' for name, value in private.items()]
        # The system's own hooks after an update are about the system's own cache.
        (folder / "apt.conf").write_text("#clear APT::Update;\n" + "".join(lines))
        self.folder, self.kind = folder, kind
        self.options: list[str | Path] = [
            "-q",
            "-c",
            folder / "apt.conf",
            "-o",
            f"Dir::State::status={status}",
        ]

    def offered(self, package: str, suites: Sequence[str]) -> str:
        """Return the first version of the package that a suite of a Debian archive offers.

        Its lists are then the current ones. Raises NotOffered when none has it, or UserError, with
        apt's first complaint, if a list could not be read.
        """
        trouble = ""
        target = "Packages" if self.kind == "deb" else "Sources"
        for archive in list_archives():
            for suite in suites:
                announce(f"reading the list of {target.lower()} of Debian {suite}")
                # The only index asked for: no Contents, translations, AppStream.
                signed = f"[signed-by={KEYRING} target={target}]"
                line = f"{self.kind} {signed} {archive} {suite} main\n"
                (self.folder / "sources.list").write_text(line)
                try:
                    run(["apt-get", *self.options, "update"], f"apt-get update for {suite}")
                except UserError as error:
                    say(f"passing over Debian {suite}: {error}")
                    trouble = trouble or str(error)
                    continue
                shown = run(["apt-cache", *self.options, "madison", package], "apt-cache")
                rows = [row.split("|") for row in shown.splitlines() if row.count("|") == 2]
                if rows:
                    return rows[0][1].strip()
        if trouble:
            raise UserError(f"cannot look for {package} in Debian: check the network ({trouble})")
        raise NotOffered(f"Debian {', '.join(suites)} have no {package}")

    def fetch(self, package: str, version: str) -> Path:
        """Return the package's one file, or its .dsc with the other files of a source package beside it."""
        args = ["download"] if self.kind == "deb" else ["source", "--download-only"]
        run(
            ["apt-get", *self.options, *args, f"{package}={version}"],
            f"fetching {package}",
            cwd=self.folder,
        )
        [file] = self.folder.glob("*.deb" if self.kind == "deb" else "*.dsc")
        return file

    def fetch_whole(self, packages: Sequence[str]) -> list[Path]:
        """Return the files of the packages and of all that they depend on and the machine has not installed."""
        args = ["--yes", "--no-install-recommends", "--download-only", "install", *packages]
        run(["apt-get", *self.options, *args], f"fetching {', '.join(packages)}")
        return sorted((self.folder / "cache/archives").glob("*.deb"))
