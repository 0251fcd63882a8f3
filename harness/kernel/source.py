# SPDX-License-Identifier: GPL-2.0
"""The base kernel: a git repository with the tag `base` checked out, under build/source-*/base.

It comes from the clone that LINUX= names. That clone is only read: its objects are borrowed, as
with `git clone --shared`. Without LINUX= it comes from Debian's package linux-source-7.3 or, if
Debian does not offer that, from the kernel's own repository.
"""

import contextlib
import lzma
import re
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from harness.core import Options, UserError, announce, git, need_disk, say, spawn
from harness.core.cache import digest, replace, scratch
from harness.core.debian import Apt, NotOffered

RELEASE = "7.3"
# The tags that LINUX= is searched for, the best first.
TAGS = ("v7.3.4", "v7.3-rc7")
PACKAGE = f"linux-source-{RELEASE}"
CONFIG_PACKAGE = f"linux-config-{RELEASE}"
CONFIG_FILE = f"usr/src/{CONFIG_PACKAGE}/config.amd64_none_amd64.xz"
SUITES = ("trixie-backports", "sid", "experimental")
# The stable kernels' own repository, for the time when Debian no longer offers the package.
UPSTREAM = "https://git.kernel.org/pub/scm/linux/kernel/git/stable/linux.git"
DISK_GIB = 4.5


def read_version(makefile: str) -> str:
    """Return the version that the text of a kernel's Makefile tells, such as 7.3.4, or ''."""
    fields = dict(re.findall(r"^([A-Z]+) =[ \t]*(\S*)$", makefile, re.M))
    names = ("VERSION", "PATCHLEVEL", "SUBLEVEL", "EXTRAVERSION")
    major, minor, sub, extra = (fields.get(name, "") for name in names)
    return f"{major}.{minor}.{sub}{extra}" if major and minor else ""


def find_commit(clone: Path) -> str:
    """Return the commit of the user's clone to use as the base: a tag, or HEAD if it is a 7.3.

    Raises UserError when there is none. Raises UserError for a partial clone, because git would
    fetch the files that it lacks into it.
    """
    try:
        git(clone, "rev-parse", "--git-dir")
    except UserError:
        raise UserError(
            f"LINUX={clone} is not a readable git repository: "
            "give a clone of the kernel, or leave LINUX out"
        ) from None
    if "promisor" in git(clone, "config", "--list", "--local", "--name-only"):
        raise UserError(
            f"LINUX={clone} is a partial clone, which lacks files: "
            "run 'git fetch --refetch --no-filter' there, give a full clone, or leave LINUX out"
        )
    version = ""
    for name in (*TAGS, "HEAD"):
        try:
            version = read_version(git(clone, "show", f"{name}:Makefile"))
        except UserError:
            continue
        if version.startswith(f"{RELEASE}."):
            return git(clone, "rev-parse", f"{name}^{{commit}}")
    what = f"holds kernel {version}" if version else "holds no kernel"
    raise UserError(
        f"LINUX={clone} {what}, but the series needs {TAGS[0]}: "
        "fetch that tag there, or leave LINUX out"
    )


def borrow_objects(clone: Path, repository: Path) -> None:
    """Create the empty repository, which reads the objects of clone. clone is only read."""
    common = (clone / git(clone, "rev-parse", "--git-common-dir")).resolve()
    git(repository.parent, "init", "-q", repository)
    (repository / ".git/objects/info/alternates").write_text(f"{common}/objects\n")
    if (common / "shallow").exists():
        shutil.copy(common / "shallow", repository / ".git/shallow")


def stream_archive(archive: Path, to: BinaryIO, message: str) -> None:
    """Write an archive to git fast-import as the tag `base`, without the folder that holds all."""
    to.write(b"commit refs/tags/base\ncommitter harness <harness@localhost> 0 +0000\n")
    to.write(b"data <<END\n%s\nEND\n" % message.encode())
    with tarfile.open(archive, "r|xz") as tar:
        for member in tar:
            mode, data = b"100755" if member.mode & 0o100 else b"100644", b""
            if member.issym():
                mode, data = b"120000", member.linkname.encode()
            elif file := tar.extractfile(member):
                data = file.read()
            else:
                continue
            name = member.name.partition("/")[2].encode()
            to.write(b"M %s inline %s\ndata %d\n" % (mode, name, len(data)) + data + b"\n")


def unpack_package(apt: Apt, repository: Path, package: str, suites: Sequence[str]) -> None:
    """Create the repository, with the tag `base`, from a Debian source package.

    Raises NotOffered when no suite offers the package. Raises UserError when it cannot be fetched.
    """
    version = apt.find_version(package, suites)
    announce(f"fetching {package} {version} (160 MB)")
    archive = apt.fetch(package, version) / f"usr/src/{package}.tar.xz"
    announce(f"unpacking {package} into git (1.7 GB)")
    git(repository.parent, "init", "-q", repository)
    git(repository, "config", "gc.auto", "0")
    # Into one pack: a file for each of 95000 objects takes twice as long.
    command: list[str | Path] = ["git", "-C", repository, "-c", "pack.compression=1"]
    with spawn([*command, "fast-import", "--quiet", "--depth=0"], stdin=subprocess.PIPE) as child:
        assert child.stdin and child.stdout
        with (
            contextlib.suppress(BrokenPipeError),
            child.stdin,
            open(child.stdin.fileno(), "wb", closefd=False) as pipe,
        ):
            stream_archive(archive, pipe, f"Debian {package} {version}")
        complaint = child.stdout.read()
        if child.wait():
            raise UserError(f"git fast-import in {repository} failed: {complaint.strip()}")


def fetch_base(fetched: Path, repository: Path) -> None:
    """Make the repository from Debian's package or else UPSTREAM; Raises UserError if it cannot."""
    other = "set LINUX= to a clone of the kernel"
    try:
        unpack_package(Apt(fetched), repository, PACKAGE, SUITES)
    except NotOffered as reason:
        announce(f"{reason}; fetching {TAGS[0]} from {UPSTREAM} (250 MB)")
        only = ("--depth=1", f"--branch={TAGS[0]}")
        try:
            git(repository.parent, "clone", "-q", "-c", "gc.auto=0", *only, UPSTREAM, repository)
            git(repository, "tag", "base", "HEAD")
        except UserError as error:
            raise UserError(f"{reason}, and {error}: check the network, or {other}") from None
    except UserError as error:
        raise UserError(f"{error}, or {other}") from None


def fetch_config(options: Options) -> Path:
    """Return the file with Debian's own configuration for amd64, which is fetched once.

    Raises UserError, which is NotOffered on a system that is not Debian, when it cannot be.
    """
    config = options.build / "debian.config"
    if not config.exists():
        with replace(config) as new, scratch(options.build / "apt.tmp") as fetched:
            try:
                apt = Apt(fetched)
                version = apt.find_version(CONFIG_PACKAGE, SUITES)
                announce(f"fetching {CONFIG_PACKAGE} {version}")
                packed = apt.fetch(CONFIG_PACKAGE, version) / CONFIG_FILE
            except UserError as error:
                reason = f"Debian's configuration: {error}; CONFIG=default does without it"
                raise type(error)(reason) from None
            text = lzma.decompress(packed.read_bytes()).decode()
            new.write_text(f"# {CONFIG_PACKAGE} {version}\n{text}")
    return config


def check_base(base: Path) -> None:
    """Raise UserError unless base/ holds every file of the tag `base`, unchanged."""
    changed = git(base, "status", "--porcelain", "--untracked-files=no").splitlines()
    if changed:
        raise UserError(
            f"{base} has {len(changed)} changed or missing files, "
            f"such as {changed[0].split()[-1]}: run 'git checkout -f base' there"
        )


def prepare_source(options: Options) -> Path:
    """Return the folder that holds the repository as base/, and make it if it does not exist.

    Raises UserError when there is no network, too little disk space or no usable LINUX, and when
    base/ was changed.
    """
    commit = find_commit(options.linux) if options.linux else ""
    name = f"source-{digest(str(options.linux), commit)}" if commit else "source-debian"
    folder = options.build / name
    if folder.exists():
        check_base(folder / "base")
    else:
        need_disk(options.build, DISK_GIB, "the base source")
        with replace(folder) as new, scratch(options.build / "apt.tmp") as fetched:
            new.mkdir()
            base = new / "base"
            if options.linux:
                announce(f"checking out {commit[:12]} of {options.linux}")
                borrow_objects(options.linux, base)
                git(base, "tag", "base", commit)
            else:
                fetch_base(fetched, base)
            git(base, "config", "checkout.workers", "0")
            git(base, "checkout", "-q", "--detach", "base")
            check_base(base)
    subject = git(folder / "base", "log", "-1", "--format=%s", "base")
    say(f"base: {subject}, kernel {read_version((folder / 'base/Makefile').read_text())}")
    return folder
