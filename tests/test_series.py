# SPDX-License-Identifier: GPL-2.0
"""The patches in series/, as mail and as commits on the base."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness import export, process, source, tree
from test_tree import contents

PATCHES = [patch for topic in tree.topics() for patch in tree.patches(topic)]
TAGS = re.compile(r"^(Signed-off|Reviewed|Acked|Tested)-by:", re.M)
COLUMNS = 75
EXPORTED_FROM = "7.3.0-rc7"
FILE = re.compile(r"^--- /dev/null\n\+\+\+ b/(\S+)\n@@ .* @@\n((?:\+.*\n){1,3})", re.M)


def name_of(patch: Path) -> str:
    return f"{patch.parent.name}/{patch.name[:4]}"


def complaints(text: str) -> list[str]:
    """Return what is wrong with a patch as mail."""
    subject = re.sub(
        r"^\[PATCH[^]]*\] ", "", re.sub(r"\n[ \t]", " ", text.split("\nSubject: ", 1)[1]).split("\n", 1)[0]
    )
    message = text.split("\n\n", 1)[1].split("\n---\n", 1)[0]
    found = [f"subject of {len(subject)} columns"] * (len(subject) > COLUMNS)
    found += [
        f"line of {len(line)} columns: {line}"
        for line in message.split("\n")
        if len(line) > COLUMNS and " " in line.strip()
    ]
    found += [f"tag that nobody gave: {tag[0]}" for tag in TAGS.finditer(text)]
    return found + [
        f"new file without SPDX identifier: {file[1]}"
        for file in FILE.finditer(text)
        if "SPDX-License-Identifier:" not in file[2]
    ]


GOOD = (
    "From 0000 Mon Sep 17 00:00:00 2001\nFrom: A <a@example.org>\nSubject: [PATCH 1/2] mm: a subject that goes on\n over the line\n\nBecause.\n---\n"
    " x.c | 1 +\n\ndiff --git a/x.c b/x.c\nnew file mode 100644\n--- /dev/null\n+++ b/x.c\n@@ -0,0 +1,2 @@\n+// SPDX-License-Identifier: GPL-2.0\n+int x;\n"
)


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ("", "", []),
        ("Because.", "Because.\n\nSigned-off-by: A <a@example.org>", ["tag that nobody gave: Signed-off-by:"]),
        ("over the line", "over the line " + "x" * 50, ["subject of 91 columns"]),
        ("Because.", "Because " + "x" * 80, [f"line of 88 columns: Because {'x' * 80}"]),
        ("+// SPDX-License-Identifier: GPL-2.0", "+//", ["new file without SPDX identifier: x.c"]),
    ],
)
def test_lint(old: str, new: str, expected: list[str]) -> None:
    assert complaints(GOOD.replace(old, new) if old else GOOD) == expected


def test_there_are_patches() -> None:
    assert PATCHES


@pytest.mark.parametrize("patch", PATCHES, ids=name_of)
def test_patch_as_mail(patch: Path) -> None:
    assert complaints(patch.read_text()) == []


@pytest.mark.parametrize("patch", PATCHES, ids=name_of)
def test_checkpatch(patch: Path, trees: tree.Tree) -> None:
    # spdxcheck.py needs this environment's Python.
    command = [trees.base / "scripts/checkpatch.pl", "--strict", "--no-signoff", "--quiet", "--show-types"]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [*command, patch],
        cwd=trees.base,
        env=os.environ | {"PATH": path},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert (done.stdout, done.returncode) == ("", 0)


def test_round_trip(trees: tree.Tree, tmp_path: Path) -> None:
    """The same bytes on the base that series/ was exported from; on a later 7.3.y only line numbers and blobs may differ."""
    shutil.copytree(process.ROOT / "series", tmp_path / "series")
    before = contents(tmp_path / "series")
    export.export(trees.series, tree.topics(tmp_path / "series"))
    after = contents(tmp_path / "series")
    if source.version((trees.base / "Makefile").read_text()) != EXPORTED_FROM:
        before, after = ({name: re.sub(rb"^(index |@@ ).*", b"", data, flags=re.M) for name, data in found.items()} for found in (before, after))
    assert after == before
