# SPDX-License-Identifier: GPL-2.0
"""The series on the stable kernel before its base: Debian's linux-source-7.2, under build/source-7.2."""

import re
import shutil
from pathlib import Path

from checks import messages
from checks.objects import X86_64, Objects
from harness import source
from harness.debian import Gone
from harness.options import Options
from harness.process import Fault, git, need_disk, step
from harness.steps import Step
from harness.tree import Tree, drop
from review.verdict import Skip, Verdict, kept

SERIES = "7.2"
PACKAGE = f"linux-source-{SERIES}"
SUITES = ("sid", "trixie-backports")
CODE = Path(__file__).read_bytes() + messages.CODE


def stable(options: Options) -> Path:
    """Return the repository of the older kernel, fetched if it is not there yet; Raises Skip when Debian has it no longer, Fault as harness.source does."""
    home = options.build / f"source-{SERIES}"
    if not home.exists():
        need_disk(options.build, source.GIB, f"the source of {PACKAGE}")
        made, fetched = options.build / "source.tmp", options.build / "apt.tmp"
        for left in (made, fetched):
            shutil.rmtree(left, ignore_errors=True)
            left.mkdir()
        try:
            source.unpack(fetched, made / "base", PACKAGE, SUITES)
        except Gone as gone:
            raise Skip(str(gone)) from None
        shutil.rmtree(fetched)
        made.rename(home)
    return home / "base"


def apply(where: Path, steps: list[Step]) -> list[str]:
    """Apply the series in the worktree where and return the patches that needed `git am -3`; Raises Fault at one that needs more."""
    threeway = []
    for one in steps:
        try:
            git(where, "am", "-q", one.patch)
        except Fault:
            git(where, "am", "--abort")
            threeway.append(one.patch.name[:4])
            try:
                git(where, "am", "-q", "-3", one.patch)
            except Fault as fault:
                names = git(where, "diff", "--name-only", "--diff-filter=U").split()
                git(where, "am", "--abort")
                raise Fault(f"{one.patch.name} does not apply, not even with git am -3: conflict in {', '.join(names) or fault}") from None
    return threeway


def backport(options: Options, trees: Tree, steps: list[Step]) -> Verdict:
    """Apply the series to the older kernel and compile the objects that it touches there; the note says how it applied."""
    repository = stable(options)
    release = source.version((repository / "Makefile").read_text())

    def make() -> dict[str, list[str]]:
        step(f"applying the series to {release}")
        # As in a clone that has both kernels: git am -3 finds the files that the patches were made from.
        (repository / ".git/objects/info/alternates").write_text(f"{trees.base / '.git/objects'}\n")
        where = repository.parent / "backport"
        drop(repository, where)
        git(repository, "worktree", "add", "-q", "--detach", where, "base")
        threeway = apply(where, steps)
        step(f"compiling the touched objects on {release}")
        objects = Objects(options, trees, where, X86_64)
        objects.configure(True)
        made, warnings = objects.compile()
        drop(repository, where)
        lacking = [name for name in ("mm/mm_init.o",) if name not in made]
        return {"threeway": threeway, "objects": made, "findings": [*warnings, *(f"{name} was not built" for name in lacking)]}

    parts = [part for one in steps for part in (one.patch.name, one.patch.read_bytes())]
    said = kept(options.build / "review", "backport", [CODE, git(repository, "rev-parse", "base"), X86_64.text(True), *parts], make)
    how = f"git am -3, which {', '.join(said['threeway'])} need" if said["threeway"] else "git am"
    return Verdict(said["findings"], f"{release} by {how}; built there: {' '.join(re.sub(r'.*/', '', name) for name in said['objects'])}")
