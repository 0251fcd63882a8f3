# SPDX-License-Identifier: GPL-2.0
"""Style, types and shell scripts, by the tools that pyproject.toml names; the mails of series/."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.core import command, folders, options
from harness.kernel.export import read_subject
from support import MAILS, name_of, need

# What shellcheck says of the guest's scripts and is meant: init sources them into one shell.
MEANT = {
    "SC1090": "init sources the scripts that the command line names",
    "SC2034": "a variable that another script reads",
    "SC2154": "a variable that another script sets",
    "SC2086": "names of devices and lists of words, which are split",
    "SC2046": "the same, from a command",
    "SC2015": "a chain of checks that ends in fail",
    "SC2002": "one file or several, as the command line says",
    "SC2094": "the console, read and written",
}
SCRIPTS = {
    "guest": ("guest/*", [f"--exclude={','.join(MEANT)}"]),
    "host": ("harness/*.sh", []),
    "ci": (".ci/run", []),
}


def check(*words: str | Path) -> None:
    """Fail, and show what a tool says, if it complains."""
    subprocess.run(words, cwd=folders.ROOT, env=command.make_environment(), check=True)


@pytest.mark.parametrize("words", [["check"], ["format", "--check"]], ids=lambda words: words[0])
def test_ruff(words: list[str]) -> None:
    check(sys.executable, "-m", "ruff", *words, "--no-cache", "--quiet")


def test_mypy(tmp_path: Path) -> None:
    # The cache makes a second run ten times as fast.
    build = options.read_options().build
    cache = build / "mypy" if (build / folders.MARKER).exists() else tmp_path
    check(sys.executable, "-m", "mypy", "--cache-dir", cache)


@pytest.mark.parametrize("name", SCRIPTS)
def test_shellcheck(name: str) -> None:
    need([] if shutil.which("shellcheck") else ["shellcheck"])
    pattern, meant = SCRIPTS[name]
    files = [path for path in sorted(folders.ROOT.glob(pattern)) if path.suffix != ".c"]
    assert files
    check("shellcheck", "--shell=sh", "--format=gcc", *meant, *files)


def test_every_file_names_its_licence() -> None:
    # Data, patches, and the licence itself.
    exempt = ["results", "series", "tests/unit/fixtures", "COPYING"]
    words = ["git", "grep", "-L", "SPDX-License-Identifier: GPL-2.0", "--"]
    words += [f":!{one}" for one in exempt]
    assert command.run(words, "git grep", cwd=folders.ROOT, fine=(0, 1)) == ""


COLUMNS = 75
TAGS = re.compile(r"^(?:Signed-off|Reviewed|Acked|Tested)-by:", re.M)
# The last prefix, and how it goes on: below x86 (maintainer-tip.rst) and s390 in upper case, and
# elsewhere in lower case, but for a name such as KUnit. No full stop at the end.
SUBJECT = re.compile(
    r"(?:(?:x86|s390).*: (?![a-z])|(?!x86|s390).*: (?![A-Z][a-z]+ ))(?!.*: ).*[^.]"
)


@pytest.mark.parametrize("mail", MAILS, ids=name_of)
def test_mail(mail: Path) -> None:
    """Checkpatch.pl has no check for subjects and tags."""
    text = mail.read_text()
    subject = read_subject(text)
    assert SUBJECT.fullmatch(subject) and len(subject) <= COLUMNS
    assert not TAGS.search(text)
