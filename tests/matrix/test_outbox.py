# SPDX-License-Identifier: GPL-2.0
"""The real series as mail that is ready to send: b4 takes it, and it goes to whom it concerns."""

import contextlib
import mailbox
from pathlib import Path

import pytest

from harness.core import command
from harness.kernel import topics, tree
from review import outbox
from support import PATCHES, Builder, read_mail

AUTHOR = "Jörg O'Tester <joerg@example.org>"
CONFIG = "[user]\nname = Jörg O'Tester\nemail = joerg@example.org\n"
STACK = topics.list_topics()


@pytest.fixture(scope="module")
def written(builder: Builder, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The sets of series/, by topic and by somebody."""
    home = tmp_path_factory.mktemp("home")
    (home / ".gitconfig").write_text(CONFIG)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        folders = outbox.run_outbox(builder.options)
    return {topic.name: folder for topic, folder in zip(STACK, folders, strict=True)}


def test_b4_am(builder: Builder, written: dict[str, Path], tmp_path: Path) -> None:
    """b4 takes the mails of each topic, offline, and git makes the series of them."""
    own = {name: str(tmp_path) for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")}
    words = ["-c", "b4.attestation-policy=off", "--offline-mode", "am", "--no-cache"]
    with tree.open_scratch(builder.trees.base, tmp_path / "clone") as clone:
        for topic in STACK:
            count, mails = len(topics.list_files(topic)), tmp_path / f"{topic.name}.mbox"
            with contextlib.closing(mailbox.mbox(mails)) as box:
                for mail in sorted(written[topic.name].iterdir()):
                    box.add(mail.read_bytes())
            out = tmp_path / topic.name
            ask: list[str | Path] = [outbox.B4, *words, "-m", mails, "-o", out]
            output = command.run(ask, "b4", cwd=clone, env=own)
            assert f"Total patches: {count}\n" in output and "ERROR" not in output
            assert "missing" not in output.lower()
            command.git(clone, "am", "-q", *out.glob("*.mbx"))
        authors = command.git(clone, "log", "--format=%an <%ae>", "base..HEAD").splitlines()
        assert authors == [AUTHOR] * len(PATCHES)
        assert not command.git(clone, "diff", "--name-only", "HEAD", "series")


# Whom all topics have to reach, and each: a maintainer in To, and more lists.
LISTS = {"linux-mm@kvack.org", "linux-kernel@vger.kernel.org"}
REACHED = {
    "zone-device-memmap": (
        "x86@kernel.org",
        "linux-hardening@vger.kernel.org",
        "linux-cxl@vger.kernel.org",
    ),
    "memmap-tests": (
        "elver@google.com",
        "linux-hardening@vger.kernel.org",
        "kasan-dev@googlegroups.com",
        "linux-kselftest@vger.kernel.org",
        "nvdimm@lists.linux.dev",
    ),
    "boot-memmap": ("rppt@kernel.org",),
    "reserved-memmap": ("rppt@kernel.org",),
    "parallel-memmap": ("daniel.m.jordan@oracle.com", "linux-crypto@vger.kernel.org"),
    "hotplug-memmap": ("david@kernel.org",),
    "hotplug-blocks": ("david@kernel.org", "kexec@lists.infradead.org"),
    "demotion": ("x86@kernel.org", "linux-hardening@vger.kernel.org"),
    "vmemmap": ("x86@kernel.org", "nvdimm@lists.linux.dev", "linux-fsdevel@vger.kernel.org"),
}


@pytest.mark.parametrize("topic", [topic.name for topic in topics.list_topics()])
def test_recipients_are_those_of_every_patch(written: dict[str, Path], topic: str) -> None:
    # A single patch has what a cover letter would say.
    cover, *others = (read_mail(mail) for mail in sorted(written[topic].glob("*.eml")))
    to, cc = ({each.addr_spec for each in cover[name].addresses} for name in ("To", "Cc"))
    maintainer, *lists = REACHED[topic]
    assert {*lists, *LISTS} <= cc
    assert maintainer in to and not to & cc
    text = cover.get_content()
    assert "\nApplies on top of: " in text and "\nbase-commit: " in text
    assert f"Jörg O'Tester ({len(others)}):\n" in text or not others
    count = str(len(others))
    for number, mail in enumerate(others, 1):
        assert f" {number:0{len(count)}}/{count}] " in str(mail["Subject"])
    for mail in others or [cover]:
        assert f"\nSigned-off-by: {AUTHOR}\n---\n" in mail.get_content()
        assert str(mail["From"]) == AUTHOR and not mail.defects
