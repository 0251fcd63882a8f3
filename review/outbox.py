# SPDX-License-Identifier: GPL-2.0
"""`make outbox`: each topic as mails ready to send, under build/outbox/TOPIC-vN/. No mail is sent.

b4 writes the mails. This file gives b4 what `b4 prep` would have kept since the last version, in
a repository that is made for it and thrown away. docs/sending.md says which part is whose.

A tag sent/TOPIC-vN of this project marks the commit whose series/TOPIC was sent as version N. The
next version is N+1.
"""

import contextlib
import json
import mailbox
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from harness.core.cache import digest, scratch
from harness.core.command import git, run
from harness.core.errors import UserError
from harness.core.folders import ROOT
from harness.core.options import Options
from harness.core.progress import announce, say
from harness.core.stages import run_stage
from harness.kernel.export import COVER, SHORTLOG, is_rfc, read_subject
from harness.kernel.source import borrow_objects
from harness.kernel.topics import list_files, list_topics
from harness.kernel.tree import Trees, apply_patch, apply_series

B4 = Path(sys.executable).with_name("b4")
AUTHOR = re.compile(
    r'([^\s<>"@][^<>"@\x00-\x1f]*[^\s<>"@]|[^\s<>"@]) <([^\s<>"@,;]+@[^\s<>"@,;.][^\s<>"@,;]*)>'
)
# Documentation/process/coding-assistants.rst of the kernel asks for it: a model wrote the patches.
ASSISTED = "Assisted-by: LLM"
BASE = "base-commit: ${base_commit}\n"
# The cover letter. b4 leaves the range-diff of a first version empty.
TEMPLATE = f"""${{cover}}

---
${{shortlog}}

${{diffstat}}
---
${{range_diff}}
{BASE}change-id: ${{change_id}}
${{prerequisites}}"""


def read_author(text: str) -> tuple[str, str]:
    """Return name and address in AUTHOR=; Raises UserError unless a Signed-off-by can have them."""
    match = AUTHOR.fullmatch(text)
    if not match:
        raise UserError(
            f'AUTHOR={text!r} is not of the form "Name <mail>": '
            "say who sends the patches, and signs them off"
        )
    return match[1], match[2]


def find_last(project: Path, topic: str) -> int:
    """Return the last version of a topic that the project's tags call sent, or 0."""
    try:
        tags = git(project, "tag", "--list", f"sent/{topic}-v*")
    except UserError:
        return 0
    numbers = re.findall(rf"^sent/{topic}-v([1-9]\d*)$", tags, re.M)
    return max(map(int, numbers), default=0)


def name_change(topic: str) -> str:
    """Return the id by which b4 knows all versions of a topic as one series."""
    return f"{topic}-{digest(topic)}"


class Desk:
    """Where b4 works: a repository, in a home of its own, without the user's settings."""

    def __init__(self, tree: Path, trees: Trees, author: tuple[str, str], template: str) -> None:
        """Make the repository tree from the base's objects, with all that b4 is told."""
        self.tree, self.author = tree, "{} <{}>".format(*author)
        borrow_objects(trees.base, tree)
        tree.with_name("template").write_text(template)
        ask = ["env", "-C", str(trees.series), "scripts/get_maintainer.pl"]
        ask += ["--no-git", "--no-git-fallback", "--no-rolestats"]
        settings = {
            "user.name": author[0],
            "user.email": author[1],
            "core.abbrev": "12",
            "b4.prep-cover-strategy": "branch-description",
            "b4.prep-cover-template": str(tree.with_name("template")),
            "b4.send-auto-to-cmd": shlex.join([*ask, "--no-l", "--no-r"]),
            "b4.send-auto-cc-cmd": shlex.join([*ask, "--no-m"]),
            "b4.send-me-too": "no",
            # Sends nothing, should b4 ever try.
            "sendemail.sendmailcmd": "false",
        }
        for name, value in settings.items():
            git(tree, "config", name, value)
        # git am checks out what it touches, so nothing else need be there.
        git(tree, "sparse-checkout", "set", "--no-cone", "/Makefile")

    def run_b4(self, *words: str | Path) -> None:
        """Run b4 in the repository; Raises UserError when it fails."""
        env = {"HOME": str(self.tree.parent), "GIT_CONFIG_NOSYSTEM": "1", "TZ": "UTC"}
        run([B4, "--offline-mode", *words], "b4", env=env, cwd=self.tree)

    def commit_version(
        self, topic: str, number: int, start: str, patches: Iterable[Path], advice: str = ""
    ) -> str:
        """Return the last commit of the patches, signed off, on a branch after start.

        Tag it as `b4 send` tags what it sent. Raises UserError, with advice, when a patch does not
        apply.
        """
        git(self.tree, "checkout", "-q", "-B", topic, start)
        tags = ["--trailer", ASSISTED, "--trailer", f"Signed-off-by: {self.author}"]
        for patch in patches:
            apply_patch(self.tree, patch, advice=advice)
            git(self.tree, "commit", "-q", "--amend", "--no-edit", f"--author={self.author}", *tags)
        about = f"{topic}\n\nbase-commit: {start}\nchange-id: {name_change(topic)}"
        git(self.tree, "tag", "-a", "-m", about, f"sent/{name_change(topic)}-v{number}")
        return git(self.tree, "rev-parse", "HEAD")

    def commit_sent(self, project: Path, topic: str, number: int, start: str) -> None:
        """Commit the version that the project's tag calls sent, for b4 to compare with."""
        tag, old = f"sent/{topic}-v{number}", self.tree.with_name("sent")
        git(project, "archive", "-o", f"{old}.tar", f"{tag}:series/{topic}")
        shutil.unpack_archive(f"{old}.tar", old / topic)
        advice = f"to compare with {tag}, take the base that was sent, or delete the tag"
        self.commit_version(topic, number, start, list_files(old / topic), advice)

    def keep_cover(self, topic: Path, about: list[str], tracked: Mapping[str, object]) -> None:
        """Keep the cover letter, about at its end, where `b4 prep` keeps it: with the branch."""
        title, text = topic.name, ""
        if (topic / COVER).exists():
            old = (topic / COVER).read_text()
            title, text = read_subject(old), SHORTLOG.split(old.split("\n\n", 1)[1], maxsplit=1)[0]
        # b4 takes lines with a # for comments.
        text = re.sub(r"^#", ">#", text.strip(), flags=re.M)
        branch = f"branch.{topic.name}"
        git(self.tree, "config", f"{branch}.description", "\n\n".join([title, text, *about]))
        git(self.tree, "config", f"{branch}.b4-tracking", json.dumps({"series": tracked}))

    def write_mails(self, made: Path) -> Path:
        """Let b4 write the branch as mails; Raises UserError when they would go to nobody."""
        self.run_b4("prep", "--auto-to-cc")
        self.run_b4("send", "--no-sign", "-o", made)
        mails = [mail.read_bytes() for mail in sorted(made.iterdir())]
        if not re.search(rb"^To: \S", mails[0], re.M):
            raise UserError(
                "get_maintainer.pl names nobody to send this to: look at MAINTAINERS in the series"
            )
        with contextlib.closing(mailbox.mbox(made / f"{made.name}.mbox")) as box:
            for mail in mails:
                box.add(mail)
        return made


def write_sets(
    options: Options,
    trees: Trees,
    versions: Mapping[Path, int],
    author: tuple[str, str],
    project: Path,
    outbox: Path,
) -> list[Path]:
    """Write the topics, the lowest first, to outbox/TOPIC-vN: all of these folders or none."""
    start = git(trees.base, "rev-parse", "base^{commit}")
    # Nobody else has the commit of Debian's package, whose version the commit's subject says.
    template, based = TEMPLATE, []
    if not options.linux:
        template = TEMPLATE.replace(BASE, "")
        based = [f"Base: {git(trees.base, 'log', '-1', '--format=%s', start)}"]
    needed, below, written = [f"base-commit: {start}"], "", []
    with scratch(options.build / "outbox.tmp") as home:
        desk = Desk(home / "tree", trees, author, template)
        for topic, number in versions.items():
            name, change = topic.name, name_change(topic.name)
            announce(f"writing {name}, version {number}, by {desk.author}")
            if number > 1:
                desk.commit_sent(project, name, number - 1, start)
            end = desk.commit_version(name, number, start, list_files(topic))
            about = based + [f"Applies on top of: {below}"] * bool(below)
            tracked = {"revision": number, "change-id": change, "base-branch": start}
            tracked |= {"prefixes": ["RFC"] if is_rfc(topic) else []}
            desk.keep_cover(topic, about, tracked | {"prerequisites": needed})
            written.append(desk.write_mails(home / f"{name}-v{number}"))
            needed = [*needed, f"change-id: {change}:v{number}"]
            below, start = f"{below}, {name}".removeprefix(", "), end
        outbox.mkdir(parents=True, exist_ok=True)
        folders = [made.rename(outbox / made.name) for made in written]
    for folder in folders:
        say(f"{folder}: look at the mails; when they are sent: git tag sent/{folder.name}")
    return folders


def run_outbox(
    options: Options, series: Path = ROOT / "series", project: Path = ROOT
) -> list[Path]:
    """Write each topic as a set to send; Raises UserError before anything is written."""
    author = read_author(options.author)
    versions, outbox = {}, options.build / "outbox"
    for topic in list_topics(series):
        versions[topic] = find_last(project, topic.name) + 1
        folder = outbox / f"{topic.name}-v{versions[topic]}"
        if folder.exists():
            raise UserError(
                f"{folder} exists and is not overwritten: "
                f"delete it, or tag what was sent as sent/{folder.name}"
            )
        if len(list_files(topic)) > 1 and not (topic / COVER).exists():
            raise UserError(f"{topic} has several patches and no cover letter: write {COVER} there")
    return write_sets(options, apply_series(options, series), versions, author, project, outbox)


if __name__ == "__main__":
    run_stage(run_outbox)
