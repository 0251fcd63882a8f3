# SPDX-License-Identifier: GPL-2.0
"""`make outbox`: each topic as a set of mails that is ready to send, under build/outbox/TOPIC-vN/. Nothing here sends it.

A tag sent/TOPIC-vN of this repository marks the commit whose series/TOPIC was
sent as version N; the next version is compared with it.
"""

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.core.command import git, run
from harness.core.errors import UserError
from harness.core.folders import ROOT
from harness.core.options import Options
from harness.core.progress import announce, say
from harness.core.stages import run_stage
from harness.kernel import source
from harness.kernel.export import COVER, SHORTLOG
from harness.kernel.topics import list_files, list_topics, name_branch
from harness.kernel.tree import Trees, apply_patch, apply_series, drop_worktree
from review.lint import read_subject

AUTHOR = re.compile(
    r'([^\s<>"@][^<>"@\x00-\x1f]*[^\s<>"@]|[^\s<>"@]) <([^\s<>"@,;]+@[^\s<>"@,;.][^\s<>"@,;]*)>'
)
RECIPIENT = re.compile(r"(.*?([^\s<>]+@[^\s<>]+?)>?) \((.*)\)$")
FROM = re.compile(r"^From: .*(?:\n .*)*", re.M)
FIRST = 1
# Asked for by Documentation/process/coding-assistants.rst of the kernel, as the patches were written with one.
ASSISTED = "Assisted-by: LLM"


@dataclass(frozen=True)
class Author:
    """Who sends the set: the author of every patch, with the sign-off that only he or she can give."""

    name: str
    mail: str

    def __str__(self) -> str:
        return f"{self.name} <{self.mail}>"

    def env(self, date: str) -> dict[str, str]:
        """Return the environment in which git commits as this author, blind to the user's and the system's configuration."""
        who = {
            f"GIT_{role}_{key}": value
            for role in ("AUTHOR", "COMMITTER")
            for key, value in (("NAME", self.name), ("EMAIL", self.mail), ("DATE", date))
        }
        return (
            os.environ
            | who
            | {
                "GIT_CONFIG_GLOBAL": "/dev/null",
                "GIT_CONFIG_NOSYSTEM": "1",
                "TZ": "UTC",
                "LC_ALL": "C",
            }
        )


def read_author(text: str) -> Author:
    """Return who AUTHOR= names; Raises UserError unless it is a name and an address, as a Signed-off-by has them."""
    match = AUTHOR.fullmatch(text)
    if not match:
        raise UserError(
            f'AUTHOR={text!r} is not of the form "Name <mail>": say who sends the patches, and signs them off'
        )
    return Author(match[1], match[2])


def list_sent(project: Path, topic: str) -> list[int]:
    """Return the versions of a topic that were sent, by the tags of the project's repository; none if it is no repository."""
    try:
        tags = git(project, "tag", "--list", f"sent/{topic}-v*").split()
    except UserError:
        return []
    return sorted(
        int(match[1])
        for tag in tags
        if (match := re.fullmatch(rf"sent/{re.escape(topic)}-v([1-9]\d*)", tag))
    )


def choose_version(text: str, topic: str, known: list[int]) -> int:
    """Return the version to write: VERSION=, else the one after the last that was sent.

    Version 2 may come without a tag for version 1, as that can have been sent
    from elsewhere; it then has no range-diff. Raises UserError on any other gap.
    """
    last = known[-1] if known else 0
    if not text:
        return last + 1
    if not re.fullmatch(r"[1-9][0-9]{0,2}", text):
        raise UserError(f"VERSION={text} must be a whole number from 1 to 999")
    number = int(text)
    if number <= last:
        raise UserError(
            f"VERSION={number} of {topic} was sent, as the tag sent/{topic}-v{last} says: the next one is {last + 1}"
        )
    if number > max(last, FIRST) + 1:
        raise UserError(
            f"VERSION={number}, but nothing says that version {number - 1} of {topic} was sent: "
            f"run 'git tag sent/{topic}-v{number - 1} COMMIT' for the commit that was"
        )
    return number


def sign_off(repository: Path, first: str, last: str, author: Author, scratch: Path) -> str:
    """Return a copy of the commits after first up to last, all of them written and signed off by author."""
    parent = git(repository, "rev-parse", f"{first}^{{commit}}")
    for commit in git(repository, "rev-list", "--reverse", f"{first}..{last}").split():
        scratch.write_text(git(repository, "log", "-1", "--format=%B", commit) + "\n")
        git(
            repository,
            "interpret-trailers",
            "--in-place",
            "--trailer",
            ASSISTED,
            "--trailer",
            f"Signed-off-by: {author}",
            scratch,
        )
        command: list[str | Path] = [
            "git",
            "-C",
            repository,
            "commit-tree",
            "-p",
            parent,
            "-F",
            scratch,
            f"{commit}^{{tree}}",
        ]
        parent = run(
            command,
            "git commit-tree",
            env=author.env(git(repository, "log", "-1", "--format=%aI", commit)),
        ).strip()
    return parent


def apply_sent(trees: Trees, project: Path, topic: str, number: int, first: str) -> str:
    """Return the end of the commits that a topic was when its version number was sent, applied after first."""
    folder, made = trees.base.parent, trees.base.parent / "sent.tmp"
    tag = f"sent/{topic}-v{number}"
    drop_worktree(trees.base, made)
    git(trees.base, "worktree", "add", "-q", "--detach", "--no-checkout", made, first)
    try:
        git(made, "sparse-checkout", "set", "--no-cone", "/Makefile")
        git(made, "checkout", "-q")
        names = git(
            project, "ls-tree", "-r", "--name-only", "--full-tree", tag, "--", f"series/{topic}"
        ).splitlines()
        for name in sorted(
            name for name in names if re.search(r"/(?!0000-)\d{4}-[^/]*\.patch$", name)
        ):
            patch = folder / "sent.patch"
            patch.write_text(
                run(["git", "-C", project, "show", f"{tag}:{name}"], f"reading {name} of {tag}")
            )
            try:
                apply_patch(made, patch)
            except UserError:
                raise UserError(
                    f"{Path(name).name} of {tag} does not apply to this base, so it cannot be compared: "
                    "take the base that was sent, or delete the tag"
                ) from None
            patch.unlink()
        return git(made, "rev-parse", "HEAD")
    finally:
        drop_worktree(trees.base, made)
        (folder / "sent.patch").unlink(missing_ok=True)


def list_recipients(
    trees: Trees, mails: Iterable[Path], author: Author
) -> tuple[list[str], list[str]]:
    """Return whom get_maintainer.pl names for any of the patches: maintainers, and apart from them reviewers and lists; each once."""
    to: dict[str, str] = {}
    cc: dict[str, str] = {}
    for mail in mails:
        said = run(
            [trees.series / "scripts/get_maintainer.pl", "--no-git", "--no-git-fallback", mail],
            f"get_maintainer.pl {mail.name}",
            cwd=trees.series,
        )
        for line in said.splitlines():
            if match := RECIPIENT.match(line):
                (to if re.match(r"maintainer|supporter", match[3]) else cc)[match[2].lower()] = (
                    match[1]
                )
    if not to and not cc:
        raise UserError(
            "get_maintainer.pl names nobody to send this to: look at MAINTAINERS in the series"
        )
    return [who for address, who in to.items() if address != author.mail.lower()], [
        who for address, who in cc.items() if address not in {*to, author.mail.lower()}
    ]


def describe_base(options: Options, trees: Trees) -> str:
    """Return the base's name, for who does not have its commit."""
    release = re.sub(
        r"^(\d+\.\d+)\.0\b", r"\1", source.read_version((trees.base / "Makefile").read_text())
    )
    return (
        f"v{release}"
        if options.linux
        else f"v{release} ({git(trees.base, 'log', '-1', '--format=%s', 'base')})"
    )


def write_mails(
    options: Options,
    trees: Trees,
    topic: Path,
    span: tuple[str, str],
    author: Author,
    number: int,
    project: Path,
    folder: Path,
) -> None:
    """Write a topic, the commits of span, as version number into the folder folder, which appears whole or not at all."""
    base, made = trees.base, options.build / "outbox/new.tmp"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    to, cc = list_recipients(trees, list_files(topic), author)
    first = git(base, "rev-parse", f"{span[0]}^{{commit}}")
    last = sign_off(base, first, span[1], author, made / "message")
    words = [
        "--zero-commit",
        "--diff-algorithm=myers",
        "--abbrev=12",
        "--stat=75",
        "--numbered",
        "--thread=shallow",
    ]
    words += [f"-v{number}"] * (number > FIRST) + ["--cover-letter"] * (topic / COVER).exists()
    words += [f"--base={git(base, 'rev-parse', 'base^{commit}')}"] if options.linux else []
    words += [f"--to={who}" for who in to] + [f"--cc={who}" for who in cc]
    if number - 1 in list_sent(project, topic.name):
        end = sign_off(
            base,
            first,
            apply_sent(trees, project, topic.name, number - 1, first),
            author,
            made / "message",
        )
        words.append(f"--range-diff={first}..{end}")
    elif number > FIRST:
        say(f"no tag sent/{topic.name}-v{number - 1}, so no range-diff")
    (made / "message").unlink()
    date = git(base, "log", "-1", "--format=%aI", last)
    run(
        ["git", "-C", base, "format-patch", "-q", *words, "-o", made, f"{first}..{last}"],
        "git format-patch",
        env=author.env(date),
    )
    mails = sorted(made.glob("*.patch"))
    if (topic / COVER).exists():
        [cover] = made.glob("*0000-cover-letter.patch")
        old = (topic / COVER).read_text()
        text = SHORTLOG.split(old.split("\n\n", 1)[1], maxsplit=1)[0]
        stack = list_topics(topic.parent)
        below = [one.name for one in stack[: stack.index(topic)]]
        about = f"{text.rstrip()}\n" + (
            "" if options.linux else f"\nBase: {describe_base(options, trees)}\n"
        )
        about += f"\nApplies on top of: {', '.join(below)}\n" if below else ""
        text = (
            cover.read_text()
            .replace("*** SUBJECT HERE ***", read_subject(old))
            .replace("*** BLURB HERE ***\n", about)
        )
        # Of all mails git leaves just the cover letter's header unencoded.
        cover.write_text(FROM.sub(lambda _: FROM.search(mails[-1].read_text())[0], text, count=1))  # type: ignore[index]
    (made / f"{folder.name}.mbox").write_bytes(b"".join(mail.read_bytes() for mail in mails))
    made.rename(folder)
    say(
        f"{folder}: {len(mails)} mails to {len(to)} and {len(cc)} recipients; when they are sent: git tag sent/{folder.name}"
    )


def run_outbox(
    options: Options,
    env: Mapping[str, str] = os.environ,
    series: Path = ROOT / "series",
    project: Path = ROOT,
) -> list[Path]:
    """Write each topic as a set to send and return the folders.

    Raises UserError, before anything is written, when AUTHOR= is malformed, VERSION=
    is not the next one, or a folder exists.
    """
    author = read_author(env.get("AUTHOR", ""))
    stack = list_topics(series)
    numbers = [
        choose_version(env.get("VERSION", ""), topic.name, list_sent(project, topic.name))
        for topic in stack
    ]
    folders = [
        options.build / f"outbox/{topic.name}-v{number}"
        for topic, number in zip(stack, numbers, strict=True)
    ]
    for folder in folders:
        if folder.exists():
            raise UserError(
                f"{folder} exists and is not overwritten: delete it, or tag what was sent as sent/{folder.name}"
            )
    trees, begin = apply_series(options, series), "base"
    for topic, number, folder in zip(stack, numbers, folders, strict=True):
        announce(f"writing {topic.name}, version {number}, by {author}")
        end = name_branch(topic, stack[-1])
        write_mails(options, trees, topic, (begin, end), author, number, project, folder)
        begin = end
    return folders


if __name__ == "__main__":
    run_stage(run_outbox)
