# SPDX-License-Identifier: GPL-2.0
"""A bare Debian with nothing but what README names builds the objects, compares and races.

Other systems have a container.
"""

import os
import shlex
import shutil
import subprocess
import urllib.request
from pathlib import Path

import pytest

from harness.core import ROOT, UserError, announce, command, git
from harness.core.debian import list_archives
from support import Builder, choose

# What README asks for, and the command that a reader runs first.
NAMED = "git,make,ca-certificates"
COMMAND = "make first"
CHECKOUT, LINUX = "root/checkout", "linux"
# Its mounts are seen by its own processes alone, and all of these end when this one ends, however
# that is: unshare would ignore SIGTERM.
PRIVATE = (
    *("setpriv", "--pdeathsig", "KILL"),
    *("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-exc"),
)
MAKE = 'debootstrap --variant=minbase --include="$0" "$@"'
RUN = """
mount -t proc proc "$0/proc"
mount --rbind /dev "$0/dev"
mount --rbind /sys "$0/sys"
mount --bind -o ro "$1" "$0/$2"
chroot "$0" sh -c "cd $3 && $4 LINUX=/$2"
"""


def find_archive(release: str) -> str:
    """Return the archive that this machine's apt uses; skip the test if it cannot be reached."""
    if os.geteuid() or not shutil.which("debootstrap"):
        pytest.skip("needs root" if os.geteuid() else "debootstrap not installed")
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
        pytest.skip("no mounts of its own: is this a container, or a chroot?")
    try:
        archive = list_archives()[0].rstrip("/")
        urllib.request.urlopen(f"{archive}/dists/{release}/InRelease", timeout=30).close()
    except (UserError, OSError) as error:
        pytest.skip(f"no archive of Debian: {error}")
    return archive


def remove_system(system: Path) -> None:
    assert f" {system}/" not in Path("/proc/self/mountinfo").read_text()
    command.run(["rm", "-rf", "--one-file-system", system], "rm")


def copy_checkout(copy: Path) -> None:
    """Make a repository of what is checked out, with what is not committed yet."""
    git(copy.parent, "init", "-q", copy)
    git(copy, f"--work-tree={ROOT}", "add", "-A")
    git(copy, "commit", "-q", "-m", "as checked out")
    git(copy, "checkout", "-q", "-f", "HEAD")


@pytest.mark.parametrize("release", choose(("bookworm", "trixie"), ("trixie",)))
def test_bare_debian(builder: Builder, release: str) -> None:
    archive, system = find_archive(release), builder.options.build / f"fresh/{release}"
    remove_system(system)
    try:
        system.mkdir(parents=True)
        log, linux = system.with_suffix(".log"), builder.options.linux or builder.trees.base
        announce(f"making a bare Debian {release}")
        command.run([*PRIVATE, MAKE, NAMED, release, system, archive], "debootstrap", log=log)
        copy_checkout(system / CHECKOUT)
        # Not fetched again: what is fetched is the same on any Debian.
        (system / LINUX).mkdir()
        announce(f"Debian {release}: {COMMAND}")
        output = command.run(
            [*PRIVATE, RUN, system, linux, LINUX, CHECKOUT, COMMAND], COMMAND, log=log
        )
        assert "as base, byte for byte" in output and "seconds of one core per TiB" in output
    finally:
        remove_system(system)


def find_container_tool() -> str:
    """Return docker or podman, whichever can run here; skip the test if neither can."""
    for tool in ("docker", "podman"):
        if (
            shutil.which(tool)
            and not subprocess.run([tool, "info"], capture_output=True).returncode
        ):
            return tool
    pytest.skip("neither docker nor podman can run here")


@pytest.mark.full
def test_container() -> None:
    """What the file says builds and runs; make list needs the checkout and Python only."""
    tool = find_container_tool()
    text = (ROOT / "container/Dockerfile").read_text()
    build, start = (line[4:] for line in text.splitlines() if line.startswith("#   docker "))
    assert start.endswith(" make bench")
    start = start.replace(" -it ", " ").replace("make bench", "make list")
    for line in (build, start):
        words = shlex.split(line.replace("docker", tool, 1).replace("$PWD", str(ROOT)))
        output = command.run(words, line, cwd=ROOT)
    assert "test_fresh.py::test_container" in output
