# SPDX-License-Identifier: GPL-2.0
"""The base kernel: a git repository with the tag `base` checked out, under build/source-*/base.

It comes from the clone that LINUX= names, which is only read (its objects are
borrowed, as `git clone --shared` does), or else from Debian's package
linux-source-7.3. That package is fetched by apt with lists, cache and sources
of its own, so the system's configuration stays as it is while apt verifies
the archive's signature against the installed Debian keyring (apt-secure(8)).
"""

import re
import shutil
from pathlib import Path

from harness.options import Options, start
from harness.process import Fault, digest, git, need_disk, run, say, step

SERIES = "7.3"
TAG = "v7.3-rc7"
PACKAGE = f"linux-source-{SERIES}"
SUITES = ("experimental", "sid", "trixie-backports")
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
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


def archives() -> list[str]:
    """Return the addresses of the Debian archives in the machine's own apt sources, in their order; Raises Fault if there is none."""
    names = {"stable", "testing", "unstable", "sid"}
    if match := re.search(r"^VERSION_CODENAME=(\w+)", Path("/etc/os-release").read_text(), re.M):
        names.add(match[1])
    told = run(
        ["apt-get", "indextargets", "--format", "$(RELEASE) $(COMPONENT) $(REPO_URI)", "Created-By: Packages"],
        "reading apt's sources",
    )
    rows = [line.split(" ", 2) for line in told.splitlines() if line.count(" ") >= 2]
    found = list(dict.fromkeys(uri for release, component, uri in rows if release in names and component == "main"))
    if not found:
        raise Fault(
            "apt has no list of a Debian archive: run 'apt-get update' as root, or set LINUX= to a clone of the kernel"
        )
    return found


def offered(apt: list[str | Path], home: Path) -> str:
    """Return the first version of the package that a suite of a Debian archive offers, its lists in apt's private state.

    Raises Fault when none has it, with apt's first complaint if there was one.
    """
    trouble = ""
    for archive in archives():
        for suite in SUITES:
            step(f"reading the package list of Debian {suite}")
            # Packages is the only index asked for: no Contents, translations, AppStream.
            (home / "sources.list").write_text(f"deb [signed-by={KEYRING} target=Packages] {archive} {suite} main\n")
            try:
                run([*apt, "update"], f"apt-get update for {suite}")
            except Fault as fault:
                say(f"passing over Debian {suite}: {fault}")
                trouble = trouble or f" ({fault})"
                continue
            shown = run(["apt-cache", *apt[1:], "madison", PACKAGE], "apt-cache")
            versions = [row.split("|")[1].strip() for row in shown.splitlines() if row.count("|") == 2]
            if versions:
                return versions[0]
    raise Fault(
        f"no Debian archive in apt's sources offers {PACKAGE}: check the network, or set LINUX= to a clone of the kernel{trouble}"
    )


def unpack(home: Path, made: Path) -> None:
    """Fetch Debian's source package into home and make the repository made from it."""
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
    lines = [f'{name} "{value}";\n' for name, value in private.items()]
    # The system's own hooks after an update are about the system's own cache.
    (home / "apt.conf").write_text("#clear APT::Update;\n" + "".join(lines))
    apt: list[str | Path] = ["apt-get", "-q", "-c", home / "apt.conf", "-o", "Dir::State::status=/var/lib/dpkg/status"]
    found = offered(apt, home)
    step(f"fetching {PACKAGE} {found} (160 MB)")
    run([*apt, "download", f"{PACKAGE}={found}"], f"fetching {PACKAGE}", cwd=home)
    [package] = home.glob("*.deb")
    step("unpacking it (1.7 GB)")
    run(["dpkg-deb", "--extract", package, home / "package"], "unpacking the package")
    made.mkdir()
    run(
        ["tar", "-C", made, "--strip-components=1", "-xf", home / f"package/usr/src/{PACKAGE}.tar.xz"],
        "unpacking the source",
    )
    step("putting it under git")
    git(made, "init", "-q")
    git(made, "config", "gc.auto", "0")
    git(made, "add", "-A", "-f")
    git(made, "commit", "-q", "-m", f"Debian {PACKAGE} {found}")
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
            unpack(fetched, made / "base")
        shutil.rmtree(fetched)
        made.rename(home)
    say(
        f"base: {git(home / 'base', 'log', '-1', '--format=%s', 'base')}, kernel {version((home / 'base/Makefile').read_text())}"
    )
    return home


if __name__ == "__main__":
    start(source)
