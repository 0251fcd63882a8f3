# SPDX-License-Identifier: GPL-2.0
"""`make outbox`: each topic on a branch of b4's, and as mails under build/outbox/TOPIC-vN/.

The branches b4/TOPIC are in a repository of their own, build/source-*/outbox, which is kept: b4
counts versions there, and tags what `b4 send` sent. This sends nothing; docs/sending.md says how.
"""

import json
import re
import shlex
import sys
from collections.abc import Sequence
from email.utils import parseaddr
from pathlib import Path

from harness.core import Options, UserError, announce, git, run, run_stage, say
from harness.core.cache import digest, replace
from harness.kernel.export import COVER, SHORTLOG, is_rfc, read_subject
from harness.kernel.source import borrow_objects
from harness.kernel.topics import SERIES, list_files, list_topics
from harness.kernel.tree import Trees, apply_patch, apply_series

B4 = Path(sys.executable).with_name("b4")
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
    name, mail = parseaddr(text)
    # What has other parts, or needs quotes, does not come back as it was.
    good = name and re.fullmatch(r"\S+@\S+", mail) and text.isprintable()
    if not good or text != f"{name} <{mail}>":
        raise UserError(
            f'AUTHOR={text!r} is not of the form "Name <mail>", without commas and quotes: '
            "say who sends the patches, and signs them off"
        )
    return name, mail


def run_b4(tree: Path, *words: str | Path) -> None:
    """Run b4 in the repository, without the user's settings; Raises UserError when it fails."""
    env = {"HOME": str(tree / ".git"), "GIT_CONFIG_NOSYSTEM": "1", "TZ": "UTC"}
    run([B4, "--offline-mode", *words], "b4", env=env, cwd=tree)


def prepare_repository(trees: Trees, author: tuple[str, str], template: str) -> Path:
    """Return the repository of the branches, which is told who sends them, and to whom."""
    tree = trees.base.parent / "outbox"
    if not tree.exists():
        borrow_objects(trees.base, tree)
        # git am checks out what it touches, so nothing else need be there.
        git(tree, "sparse-checkout", "set", "--no-cone", "/Makefile")
    (tree / ".git/template").write_text(template)
    ask = ["env", "-C", str(trees.series), "scripts/get_maintainer.pl"]
    ask += ["--no-git", "--no-git-fallback", "--no-rolestats"]
    settings = {
        "user.name": author[0],
        "user.email": author[1],
        "core.abbrev": "12",
        "b4.prep-cover-strategy": "branch-description",
        "b4.prep-cover-template": str(tree / ".git/template"),
        "b4.send-auto-to-cmd": shlex.join([*ask, "--no-l", "--no-r"]),
        "b4.send-auto-cc-cmd": shlex.join([*ask, "--no-m"]),
        "b4.send-me-too": "no",
    }
    for name, value in settings.items():
        git(tree, "config", name, value)
    return tree


def commit_topic(tree: Path, topic: Path, start: str, author: tuple[str, str]) -> str:
    """Commit the patches, by author and signed off, on the topic's branch; return the last one."""
    who = "{} <{}>".format(*author)
    git(tree, "checkout", "-q", "-B", f"b4/{topic.name}", start)
    for patch in list_files(topic):
        apply_patch(tree, patch)
        sign = ["--trailer", f"Signed-off-by: {who}"]
        git(tree, "commit", "-q", "--amend", "--no-edit", f"--author={who}", *sign)
    return git(tree, "rev-parse", "HEAD")


def list_ids(tree: Path, start: str, end: str) -> list[str]:
    """Return the ids of patches, by which b4 names what a topic needs."""
    script = 'git -C "$0" log -p --reverse "$1" | git patch-id --stable'
    said = run(["sh", "-c", script, tree, f"{start}..{end}"], "git patch-id")
    return [f"patch-id: {line.split()[0]}" for line in said.splitlines()]


def keep_cover(
    tree: Path, topic: Path, about: Sequence[str], start: str, needed: Sequence[str]
) -> dict[str, object]:
    """Keep the cover letter, about at its end, where b4 looks for it; return what b4 tracks.

    That is what `b4 prep --enroll` writes once, but for the change-id: all versions have the same.
    """
    title, text = topic.name, ""
    if (topic / COVER).exists():
        old = (topic / COVER).read_text()
        title, text = read_subject(old), SHORTLOG.split(old.split("\n\n", 1)[1], maxsplit=1)[0]
    # b4 takes lines with a # for comments.
    text = re.sub(r"^#", ">#", text.strip(), flags=re.M)
    branch = f"branch.b4/{topic.name}"
    git(tree, "config", f"{branch}.description", "\n\n".join([title, text, *about]))
    kept = git(tree, "config", "--default", "{}", f"{branch}.b4-tracking")
    tracked: dict[str, object] = {
        "revision": 1,
        "change-id": f"{topic.name}-{digest(topic.name)}",
        **json.loads(kept).get("series", {}),
        "base-branch": start,
        "prefixes": ["RFC"] if is_rfc(topic) else [],
        "prerequisites": list(needed),
    }
    git(tree, "config", f"{branch}.b4-tracking", json.dumps({"series": tracked}))
    return tracked


def write_mails(tree: Path, folder: Path) -> None:
    """Let b4 write the branch as mails; Raises UserError when they would go to nobody."""
    run_b4(tree, "prep", "--auto-to-cc")
    with replace(folder) as made:
        run_b4(tree, "send", "--no-sign", "-o", made)
        if not re.search(r"^To: \S", min(made.iterdir()).read_text(), re.M):
            raise UserError(
                "get_maintainer.pl names nobody to send this to: look at MAINTAINERS in the series"
            )
    say(f"{folder}: look at the mails; docs/sending.md says how to send them")


def run_outbox(options: Options, series: Path = SERIES) -> list[Path]:
    author, topics = read_author(options.author), list_topics(series)
    for topic in topics:
        if len(list_files(topic)) > 1 and not (topic / COVER).exists():
            raise UserError(f"{topic} has several patches and no cover letter: write {COVER} there")
    trees = apply_series(options, series)
    start = git(trees.base, "rev-parse", "base^{commit}")
    # Nobody else has the commit of Debian's package, whose version the commit's subject says.
    based = [f"Base: {git(trees.base, 'log', '-1', '--format=%s', start)}"] * (not options.linux)
    template = TEMPLATE if options.linux else TEMPLATE.replace(BASE, "")
    tree = prepare_repository(trees, author, template)
    needed, below, written = [f"base-commit: {start}"], "", []
    for topic in topics:
        announce(f"writing {topic.name}, by {author[0]}")
        end = commit_topic(tree, topic, start, author)
        about = based + [f"Applies on top of: {below}"] * bool(below)
        tracked = keep_cover(tree, topic, about, start, needed)
        version = f"v{tracked['revision']}"
        written.append(options.build / "outbox" / f"{topic.name}-{version}")
        write_mails(tree, written[-1])
        needed.append(f"change-id: {tracked['change-id']}:{version}")
        needed += list_ids(tree, start, end)
        below, start = f"{below}, {topic.name}".removeprefix(", "), end
    return written


if __name__ == "__main__":
    run_stage(run_outbox)
