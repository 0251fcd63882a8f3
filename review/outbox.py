# SPDX-License-Identifier: GPL-2.0
"""`make outbox`: each topic on a branch of b4's, and as mails under build/outbox/TOPIC-vN/.

The branches b4/TOPIC are in a repository of their own, build/source-*/outbox, which is kept: b4
counts versions there, and tags what `b4 send` sent. This sends nothing; docs/sending.md says how.
"""

import json
import re
import sys
from pathlib import Path

from harness.core import Options, UserError, announce, git, run, run_stage, say
from harness.core.cache import replace
from harness.kernel.export import COVER, SHORTLOG, is_rfc, read_subject
from harness.kernel.source import borrow_objects
from harness.kernel.topics import SERIES, list_files, list_topics
from harness.kernel.tree import Trees, apply_patches, apply_series

B4 = Path(sys.executable).with_name("b4")


def run_b4(tree: Path, *words: str | Path) -> None:
    """Run b4 in the repository; Raises UserError when it fails."""
    # Mails are written, so a web endpoint that the user sends by is no matter.
    run([B4, "--offline-mode", "-c", "b4.send-endpoint-web=", *words], "b4", cwd=tree)


def prepare_repository(trees: Trees) -> Path:
    """Return the repository of the branches, which is told whom to ask for recipients."""
    tree = trees.base.parent / "outbox"
    if not tree.exists():
        borrow_objects(trees.base, tree)
        # git am checks out what it touches, so nothing else need be there.
        git(tree, "sparse-checkout", "set", "--no-cone", "/Makefile")
    git(tree, "branch", "-f", "base", git(trees.base, "rev-parse", "base^{commit}"))
    ask = f"env -C {trees.series} scripts/get_maintainer.pl"
    ask += " --no-git --no-git-fallback --no-rolestats"
    settings = {
        "b4.prep-cover-strategy": "branch-description",
        "b4.send-auto-to-cmd": f"{ask} --no-l --no-r",
        "b4.send-auto-cc-cmd": f"{ask} --no-m",
    }
    for name, value in settings.items():
        git(tree, "config", name, value)
    return tree


def commit_topic(tree: Path, topic: Path) -> None:
    """Commit the patches, by the user of git's configuration and signed off."""
    # The user's key and hooks are for the user's own commits.
    sign = ["git", "-c", "commit.gpgSign=false", "-c", "core.hooksPath=/dev/null", "commit"]
    sign += ["-q", "--amend", "--no-edit", "--reset-author", "--signoff"]
    for patch in list_files(topic):
        apply_patches(tree, [patch])
        run(sign, f"signing off {patch.name}", cwd=tree)


def read_cover(topic: Path) -> str:
    """Return subject and text of the cover letter; Raises UserError if there is none."""
    if not (topic / COVER).exists():
        raise UserError(f"{topic / COVER} is missing: write it")
    mail = (topic / COVER).read_text()
    text = SHORTLOG.split(mail.split("\n\n", 1)[1], maxsplit=1)[0].strip()
    # b4 takes lines with a # for comments.
    return f"{read_subject(mail)}\n\n{re.sub('^#', '>#', text, flags=re.M)}"


def run_outbox(options: Options, series: Path = SERIES) -> list[Path]:
    covers = {topic: read_cover(topic) for topic in list_topics(series)}
    trees = apply_series(options, series)
    tree = prepare_repository(trees)
    ask = ["git", "-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT"]
    what = "asking git for your name and address (set user.name and user.email by git config)"
    author = run(ask, what, cwd=tree).rpartition(">")[0] + ">"
    start, below = "base", git(trees.base, "log", "-1", "--format=%s", "base")
    written = []
    for topic, cover in covers.items():
        announce(f"writing {topic.name}, by {author}")
        branch = f"b4/{topic.name}"
        git(tree, "checkout", "-q", "-B", branch, start)
        commit_topic(tree, topic)
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
