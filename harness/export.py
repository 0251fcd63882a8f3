# SPDX-License-Identifier: GPL-2.0
"""The way back: each topic's patches in series/ written anew from the branch.

The output depends on the commits alone: no version of git, no date of today,
no configuration of the user's. A topic's cover letter keeps its header and
text; the list of commits and the diffstat below them are regenerated.
"""

import re
import shutil
from pathlib import Path

from harness import source
from harness.options import Options, start
from harness.process import Fault, git, say
from harness.tree import end_of, key_of, patches, record, topics

COVER = "0000-cover-letter.patch"
SHORTLOG = re.compile(r"^.+ \(\d+\):\n  ", re.M)


def cover(old: str, new: str) -> str:
    """Return the old cover letter with the shortlog, diffstat and patch count of the one that git made."""
    listed, total = SHORTLOG.search(new), re.search(r"\[PATCH 0+/(\d+)\]", new)
    text = SHORTLOG.split(old, maxsplit=1)[0]
    assert listed and total
    return re.sub(r"\[PATCH 0+/\d+\]", total[0], text, count=1) + new[listed.start() :]


def export(repository: Path, stack: list[Path]) -> None:
    """Write the patches of each topic's folder in stack from the branches of repository.

    Raises Fault, before anything is written, if a topic does not start where the one before ends.
    """
    start, made = "base", {}
    for topic in stack:
        end = end_of(topic, stack[-1])
        git(repository, "merge-base", "--is-ancestor", start, end)
        new = repository.parent / f"{topic.name}.tmp"
        shutil.rmtree(new, ignore_errors=True)
        git(
            repository,
            "format-patch",
            "-q",
            "--zero-commit",
            "--no-signature",
            "--no-thread",
            "--no-base",
            "--numbered",
            "--cover-letter",
            "--diff-algorithm=myers",
            "--abbrev=12",
            "--stat=75",
            "-o",
            new,
            f"{start}..{end}",
        )
        if not any(patches(new)):
            raise Fault(f"branch {end} has no commits after {start}: nothing to export for {topic.name}")
        if (topic / COVER).exists():
            (new / COVER).write_text(cover((topic / COVER).read_text(), (new / COVER).read_text()))
        else:
            (new / COVER).unlink()
        start, made[topic] = end, new
    for topic, new in made.items():
        for old in topic.glob("[0-9]*.patch"):
            old.unlink()
        topic.mkdir(exist_ok=True)
        for patch in sorted(new.iterdir()):
            shutil.copyfile(patch, topic / patch.name)
        shutil.rmtree(new)
        say(f"{topic.name}: {len(patches(topic))} patches")


def stage(options: Options) -> None:
    """Export every topic; Raises Fault if the branch does not exist or has uncommitted changes."""
    home = source.source(options)
    if not (home / "series").exists():
        raise Fault(f"{home / 'series'} does not exist: run 'make tree' first")
    if git(home / "series", "status", "--porcelain", "--untracked-files=no"):
        raise Fault(f"{home / 'series'} has uncommitted changes: commit them first")
    git(home / "series", "checkout", "-q", "series")
    export(home / "series", topics())
    record(home, key_of(home, topics()))


if __name__ == "__main__":
    start(stage)
