# SPDX-License-Identifier: GPL-2.0
"""Export the branch `series` to series/: write the patches of each topic again.

The output depends on the commits alone, not on git's version, the date or the user's
configuration. A topic's cover letter keeps its header and text. The list of commits and the
diffstat below them are regenerated.
"""

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from harness.core import Options, UserError, git, say
from harness.kernel import source
from harness.kernel.topics import SERIES, list_files, name_branch
from harness.kernel.tree import choose_stack, make_key, record_key

COVER = "0000-cover-letter.patch"
FORMAT_PATCH = (
    "format-patch -q --zero-commit --no-signature --no-thread --no-base --numbered "
    "--cover-letter --diff-algorithm=myers --abbrev=12 --stat=75"
)
TITLE = re.compile(r"\[(RFC )?PATCH 0+/\d+\]")
SHORTLOG = re.compile(r"^.+ \(\d+\):\n  ", re.M)


def update_cover(old: str, new: str) -> str:
    """Return the old cover letter with the shortlog, diffstat and patch count of git's new one."""
    listed, total = SHORTLOG.search(new), TITLE.search(new)
    text = SHORTLOG.split(old, maxsplit=1)[0]
    assert listed and total
    return TITLE.sub(total[0], text, count=1) + new[listed.start() :]


def read_subject(mail: str) -> str:
    """Return the subject of a mail on one line, without the brackets before it."""
    text = re.sub(r"\n[ \t]", " ", mail.split("\nSubject: ", 1)[1])
    return re.sub(r"^(\[[^]]*\] *)+", "", text.split("\n", 1)[0])


def is_rfc(topic: Path) -> bool:
    """Tell whether a topic is a request for comments: the subject of its cover letter says so."""
    cover = topic / COVER
    title = TITLE.search(cover.read_text()) if cover.exists() else None
    return bool(title and title[1])


# Gets all mails, by topic and file, and returns them as they are to be written.
Fill = Callable[[Mapping[str, str]], Mapping[str, str]]


def export_topics(repository: Path, stack: list[Path], fill: Fill = dict) -> Mapping[str, str]:
    """Write the patches of each topic's folder in stack from the branches of repository.

    Returns what fill makes of them and of all other topics. Raises UserError when a topic has no
    commits or does not start where the one before it ends. Nothing is written then.
    """
    start, exported = "base", {}
    for topic in stack:
        end = name_branch(topic, stack[-1])
        git(repository, "merge-base", "--is-ancestor", start, end)
        new = repository.parent / f"{topic.name}.tmp"
        shutil.rmtree(new, ignore_errors=True)
        rfc = ["--rfc"] if is_rfc(topic) else []
        git(repository, *FORMAT_PATCH.split(), *rfc, "-o", new, f"{start}..{end}")
        if not any(list_files(new)):
            raise UserError(
                f"branch {end} has no commits after {start}: "
                f"add some, or remove {topic.name} from series/stack"
            )
        if (topic / COVER).exists():
            (new / COVER).write_text(
                update_cover((topic / COVER).read_text(), (new / COVER).read_text())
            )
        else:
            (new / COVER).unlink()
        start, exported[topic] = end, new
    folders = {patch.parent: patch.parent for patch in stack[0].parent.glob("*/*.patch")} | exported
    filled = fill(
        {
            f"{topic.name}/{patch.name}": patch.read_text()
            for topic, folder in folders.items()
            for patch in folder.glob("*.patch")
        }
    )
    for topic, new in exported.items():
        for old in topic.glob("[0-9]*.patch"):
            old.unlink()
        topic.mkdir(exist_ok=True)
        for patch in sorted(new.iterdir()):
            shutil.copyfile(patch, topic / patch.name)
        shutil.rmtree(new)
        say(f"{topic.name}: {len(list_files(topic))} patches")
    return filled


def export_series(options: Options, series: Path = SERIES, fill: Fill = dict) -> None:
    """Export all topics; Raises UserError without the branch, or if it has uncommitted changes."""
    worktrees = source.prepare_source(options)
    if not (worktrees / "series").exists():
        raise UserError(f"{worktrees / 'series'} does not exist: run 'make tree' first")
    if git(worktrees / "series", "status", "--porcelain", "--untracked-files=no"):
        raise UserError(f"{worktrees / 'series'} has uncommitted changes: commit them first")
    git(worktrees / "series", "checkout", "-q", "series")
    stack = choose_stack(worktrees / "base", series)
    filled = export_topics(worktrees / "series", stack, fill)
    # Of what the branch has: where a table is another one, the next `make tree` takes it.
    record_key(worktrees, make_key(worktrees, stack))
    for name, text in filled.items():
        if (series / name).read_text() != text:
            (series / name).write_text(text)
            say(f"series/{name}: written")
