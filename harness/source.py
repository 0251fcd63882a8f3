# SPDX-License-Identifier: GPL-2.0
"""The base kernel: a git repository with the tag `base` checked out, under build/source-*/base.

It comes from the clone that LINUX= names, which is only read (its objects are
borrowed, as `git clone --shared` does), or else from Debian's package
linux-source-7.3 (harness.debian).
"""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from harness.debian import Apt
from harness.options import Options, start
from harness.process import Fault, digest, git, need_disk, run, say, step

SERIES = "7.3"
TAG = "v7.3-rc7"
PACKAGE = f"linux-source-{SERIES}"
SUITES = ("experimental", "sid", "trixie-backports")
GIB = 4.5


def version(makefile: str) -> str:
    """Return the version that the text of a kernel's top Makefile states, such as 7.3.0-rc7; empty if it is none."""
    parts = [
        re.search(rf"^{name} =[ \t]*(\S*)$", makefile, re.M)
        for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL", "EXTRAVERSION")
    ]
    major, minor, sub, extra = (part[1] if part else "" for part in parts)
    return f"{major}.{minor}.{sub}{extra}" if major and minor else ""


def commit_of(clone: Path) -> str:
    """Return the commit of the user's clone that is the base: the tag, or a HEAD of the same version."""
    try:
        git(clone, "rev-parse", "--git-dir")
    except (Fault, OSError):
        raise Fault(
            f"LINUX={clone} is no git repository that can be read: give a clone of the kernel, or leave LINUX out"
        ) from None
    found = ""
    for name in (TAG, "HEAD"):
        try:
            commit = git(clone, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
            found = version(git(clone, "show", f"{commit}:Makefile"))
        except Fault:
            continue
        if found.startswith(f"{SERIES}."):
            return commit
    what = f"holds kernel {found}" if found else "holds no kernel"
    raise Fault(f"LINUX={clone} {what}, the series needs {TAG}: fetch that tag there, or leave LINUX out")


def borrow(clone: Path, commit: str, made: Path) -> None:
    """Make the repository made from the objects of the user's clone, without writing to the clone."""
    step(f"checking out {commit[:12]} of {clone}")
    common = (clone / git(clone, "rev-parse", "--git-common-dir")).resolve()
    git(made.parent, "init", "-q", made)
    (made / ".git/objects/info/alternates").write_text(f"{common}/objects\n")
    if (common / "shallow").exists():
        shutil.copy(common / "shallow", made / ".git/shallow")
    git(made, "tag", "base", commit)
    git(made, "checkout", "-q", "--detach", "base")


def unpack(home: Path, made: Path, package: str, suites: Sequence[str], other: str = "") -> None:
    """Fetch Debian's source package into home and make the repository made from it, with the tag `base`.

    Raises Fault when no archive has it; other says what else the user can do.
    """
    apt = Apt(home)
    found = apt.offered(package, suites, other)
    step(f"fetching {package} {found} (160 MB)")
    deb = apt.fetch(package, found)
    step("unpacking it (1.7 GB)")
    run(["dpkg-deb", "--extract", deb, home / "package"], "unpacking the package")
    made.mkdir()
    run(
        ["tar", "-C", made, "--strip-components=1", "-xf", home / f"package/usr/src/{package}.tar.xz"],
        "unpacking the source",
    )
    step("putting it under git")
    git(made, "init", "-q")
    git(made, "config", "gc.auto", "0")
    git(made, "add", "-A", "-f")
    git(made, "commit", "-q", "-m", f"Debian {package} {found}")
    git(made, "tag", "base")


def source(options: Options) -> Path:
    """Return the folder whose base/ is the repository, made if it is not there yet.

    Raises Fault when there is no network, no such package, too little disk or no usable LINUX.
    """
    commit = commit_of(options.linux) if options.linux else ""
    home = options.build / (f"source-{digest(str(options.linux), commit)}" if commit else "source-debian")
    if not home.exists():
        need_disk(options.build, GIB, "the base source")
        made, fetched = options.build / "source.tmp", options.build / "apt.tmp"
        for left in (made, fetched):
            shutil.rmtree(left, ignore_errors=True)
            left.mkdir()
        if options.linux:
            borrow(options.linux, commit, made / "base")
        else:
            unpack(fetched, made / "base", PACKAGE, SUITES, ", or set LINUX= to a clone of the kernel")
        shutil.rmtree(fetched)
        made.rename(home)
    say(
        f"base: {git(home / 'base', 'log', '-1', '--format=%s', 'base')}, kernel {version((home / 'base/Makefile').read_text())}"
    )
    return home


if __name__ == "__main__":
    start(source)
