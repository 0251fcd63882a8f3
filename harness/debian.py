# SPDX-License-Identifier: GPL-2.0
"""Packages of a Debian archive, fetched by an apt with lists, cache and sources of its own.

So the system's configuration stays as it is, while apt verifies the archive's
signature against the installed Debian keyring (apt-secure(8)).
"""

import re
from collections.abc import Sequence
from pathlib import Path

from harness.process import Fault, run, say, step

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def codename() -> str:
    """Return the name of the installed Debian release, empty if it has none."""
    match = re.search(r"^VERSION_CODENAME=(\w+)", Path("/etc/os-release").read_text(), re.M)
    return match[1] if match else ""


class Gone(Fault):
    """A package that no suite has: not now, and not by trying again."""


def archives() -> list[str]:
    """Return the addresses of the Debian archives in the machine's own apt sources, in their order; Raises Fault if there is none."""
    names = {"stable", "testing", "unstable", "sid", codename()}
    told = run(
        ["apt-get", "indextargets", "--format", "$(RELEASE) $(COMPONENT) $(REPO_URI)", "Created-By: Packages"],
        "reading apt's sources",
    )
    rows = [line.split(" ", 2) for line in told.splitlines() if line.count(" ") >= 2]
    found = list(dict.fromkeys(uri for release, component, uri in rows if release in names and component == "main"))
    if not found:
        raise Fault("apt has no list of a Debian archive: run 'apt-get update' as root")
    return found


class Apt:
    """An apt whose state lies under home, an empty folder; source packages if kind is deb-src.

    With arch, apt takes the machine for one of that architecture on which nothing is installed.
    """

    def __init__(self, home: Path, kind: str = "deb", arch: str = "") -> None:
        if not KEYRING.exists():
            raise Fault(f"{KEYRING} is missing: run 'make setup'")
        for folder in ("lists/partial", "cache/archives/partial"):
            (home / folder).mkdir(parents=True)
        private = {
            "Dir::State": home,
            "Dir::State::lists": home / "lists",
            "Dir::Cache": home / "cache",
            "Dir::Etc::sourcelist": home / "sources.list",
            "Dir::Etc::sourceparts": "/dev/null",
            "APT::Sandbox::User": "",
            "APT::Update::Error-Mode": "any",
            "Acquire::Retries": "2",
        }
        status = Path("/var/lib/dpkg/status")
        if arch:
            private |= {"APT::Architecture": arch, "APT::Architectures": arch}
            status = home / "status"
            status.touch()
        lines = [f'{name} "{value}";\n' for name, value in private.items()]
        # The system's own hooks after an update are about the system's own cache.
        (home / "apt.conf").write_text("#clear APT::Update;\n" + "".join(lines))
        self.home, self.kind = home, kind
        self.options: list[str | Path] = ["-q", "-c", home / "apt.conf", "-o", f"Dir::State::status={status}"]

    def offered(self, package: str, suites: Sequence[str], other: str = "") -> str:
        """Return the first version of the package that a suite of a Debian archive offers, its lists then being the current ones.

        Raises Gone when none has it, or Fault, with apt's first complaint, if a
        list could not be read; other says what else the user can do.
        """
        trouble = ""
        target = "Packages" if self.kind == "deb" else "Sources"
        for archive in archives():
            for suite in suites:
                step(f"reading the list of {target.lower()} of Debian {suite}")
                # The only index asked for: no Contents, translations, AppStream.
                line = f"{self.kind} [signed-by={KEYRING} target={target}] {archive} {suite} main\n"
                (self.home / "sources.list").write_text(line)
                try:
                    run(["apt-get", *self.options, "update"], f"apt-get update for {suite}")
                except Fault as fault:
                    say(f"passing over Debian {suite}: {fault}")
                    trouble = trouble or f" ({fault})"
                    continue
                shown = run(["apt-cache", *self.options, "madison", package], "apt-cache")
                versions = [row.split("|")[1].strip() for row in shown.splitlines() if row.count("|") == 2]
                if versions:
                    return versions[0]
        raise (Fault if trouble else Gone)(f"no Debian archive in apt's sources offers {package}: check the network{other}{trouble}")

    def fetch(self, package: str, version: str) -> Path:
        """Return the package's one file, or its .dsc with the other files of a source package beside it."""
        words = ["download"] if self.kind == "deb" else ["source", "--download-only"]
        run(["apt-get", *self.options, *words, f"{package}={version}"], f"fetching {package}", cwd=self.home)
        [file] = self.home.glob("*.deb" if self.kind == "deb" else "*.dsc")
        return file

    def fetch_whole(self, packages: Sequence[str]) -> list[Path]:
        """Return the files of the packages and of all that they depend on and the machine has not installed."""
        words = ["--yes", "--no-install-recommends", "--download-only", "install", *packages]
        run(["apt-get", *self.options, *words], f"fetching {', '.join(packages)}")
        return sorted((self.home / "cache/archives").glob("*.deb"))
