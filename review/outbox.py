# SPDX-License-Identifier: GPL-2.0
"""`make outbox`: each topic on a branch of b4's, and as mails under build/outbox/TOPIC-vN/.

The branches b4/TOPIC are in a repository of their own, build/source-*/outbox, which is kept: b4
counts versions there, and tags what `b4 send` sent. This sends nothing; docs/sending.md says how.
"""

import json
import re
import sys
from email.utils import parseaddr
from pathlib import Path

from harness.core import Options, UserError, announce, git, run, run_stage, say
from harness.core.cache import replace
from harness.kernel.export import COVER, SHORTLOG, is_rfc, read_subject
from harness.kernel.source import borrow_objects
from harness.kernel.topics import SERIES, list_files, list_topics
from harness.kernel.tree import Trees, apply_patch, apply_series

B4 = Path(sys.executable).with_name("b4")


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


def prepare_repository(trees: Trees, author: tuple[str, str]) -> Path:
    """Return the repository of the branches, which is told who sends them, and to whom."""
    tree = trees.base.parent / "outbox"
    if not tree.exists():
        borrow_objects(trees.base, tree)
        # git am checks out what it touches, so nothing else need be there.
        git(tree, "sparse-checkout", "set", "--no-cone", "/Makefile")
    git(tree, "branch", "-f", "base", git(trees.base, "rev-parse", "base^{commit}"))
    ask = f"env -C {trees.series} scripts/get_maintainer.pl"
    ask += " --no-git --no-git-fallback --no-rolestats"
    settings = {
        "user.name": author[0],
        "user.email": author[1],
        "b4.prep-cover-strategy": "branch-description",
        "b4.send-auto-to-cmd": f"{ask} --no-l --no-r",
        "b4.send-auto-cc-cmd": f"{ask} --no-m",
    }
    for name, value in settings.items():
        git(tree, "config", name, value)
    return tree


def commit_topic(tree: Path, topic: Path, author: tuple[str, str]) -> None:
    """Commit the patches, by author and signed off."""
    who = "{} <{}>".format(*author)
    for patch in list_files(topic):
        apply_patch(tree, patch)
        sign = ["--trailer", f"Signed-off-by: {who}"]
        git(tree, "commit", "-q", "--amend", "--no-edit", f"--author={who}", *sign)


def read_cover(topic: Path) -> str:
    """Return subject and text of the cover letter; Raises UserError if there is none."""
    if not (topic / COVER).exists():
        raise UserError(f"{topic / COVER} is missing: write it")
    mail = (topic / COVER).read_text()
    text = SHORTLOG.split(mail.split("\n\n", 1)[1], maxsplit=1)[0].strip()
    # b4 takes lines with a # for comments.
    return f"{read_subject(mail)}\n\n{re.sub('^#', '>#', text, flags=re.M)}"


def run_outbox(options: Options, series: Path = SERIES) -> list[Path]:
    author, topics = read_author(options.author), list_topics(series)
    covers = {topic: read_cover(topic) for topic in topics}
    trees = apply_series(options, series)
    tree = prepare_repository(trees, author)
    start, below = "base", git(trees.base, "log", "-1", "--format=%s", "base")
    written = []
    for topic, cover in covers.items():
        announce(f"writing {topic.name}, by {author[0]}")
        branch = f"b4/{topic.name}"
        git(tree, "checkout", "-q", "-B", branch, start)
        commit_topic(tree, topic, author)
        about = f"{cover}\n\nApplies on top of: {below}"
        git(tree, "config", f"branch.{branch}.description", about)
        tracking = f"branch.{branch}.b4-tracking"
        enroll = [] if git(tree, "config", "--default", "", tracking) else ["--enroll", start]
        prefix = "RFC" if is_rfc(topic) else ""
        run_b4(tree, "prep", *enroll, "--set-prefixes", prefix, "--auto-to-cc")
        version = json.loads(git(tree, "config", tracking))["series"]["revision"]
        written.append(options.build / "outbox" / f"{topic.name}-v{version}")
        with replace(written[-1]) as made:
            run_b4(tree, "send", "--no-sign", "-o", made)
        say(f"{written[-1]}: look at the mails; docs/sending.md says how to send them")
        start, below = branch, f"{below}, {topic.name}"
    return written


if __name__ == "__main__":
    run_stage(run_outbox)
