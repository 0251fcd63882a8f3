# SPDX-License-Identifier: GPL-2.0
"""The real series as mail that is ready to send: b4 takes it, and it goes to whom it concerns."""

import contextlib
import dataclasses
import mailbox
from pathlib import Path

import pytest

from harness.core import command
from harness.kernel import source, topics
from review import outbox
from support import Builder, read_mail

AUTHOR = "Jörg O'Tester <joerg@example.org>"
STACK = topics.list_topics()
ENDS = ["base", *(topics.name_branch(topic, STACK[-1]) for topic in STACK)]
each_topic = pytest.mark.parametrize("topic", STACK, ids=lambda topic: topic.name)


@pytest.fixture(scope="module")
def written(builder: Builder) -> dict[Path, Path]:
    """The sets of series/, by topic and by somebody."""
    made = outbox.run_outbox(dataclasses.replace(builder.options, author=AUTHOR))
    return dict(zip(STACK, made, strict=True))


@each_topic
def test_b4_am(builder: Builder, written: dict[Path, Path], topic: Path, tmp_path: Path) -> None:
    """b4 takes the mails, offline, and git makes the topic's tree of them."""
    begin, end = ENDS[STACK.index(topic) :][:2]
    count, home = len(topics.list_files(topic)), written[topic]
    base, clone = builder.trees.base, tmp_path / "clone"
    source.borrow_objects(base, clone)
    command.git(clone, "sparse-checkout", "set", "--no-cone", "/Makefile")
    names = f"{begin}^{{commit}}", f"{end}^{{tree}}"
    first, want = command.git(base, "rev-parse", *names).split()
    command.git(clone, "checkout", "-q", "--detach", first)
    own = {name: str(tmp_path) for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")}
    words = ["-c", "b4.attestation-policy=off", "--offline-mode", "am", "--no-cache"]
    with contextlib.closing(mailbox.mbox(tmp_path / "mbox")) as box:
        for mail in sorted(home.iterdir()):
            box.add(mail.read_bytes())
    words += ["-m", str(tmp_path / "mbox"), "-o", str(tmp_path / "am")]
    told = command.run([outbox.B4, *words], "b4", cwd=clone, env=own)
    assert f"Total patches: {count}\n" in told and "applies clean to current tree" in told
    assert "ERROR" not in told and "missing" not in told.lower()
    [mbox] = (tmp_path / "am").glob("*.mbx")
    command.git(clone, "am", "-q", mbox)
    assert command.git(clone, "rev-parse", "HEAD^{tree}") == want
    authors = command.git(clone, "log", "--format=%an <%ae>", f"-{count}").splitlines()
    assert set(authors) == {AUTHOR}


# Whom all topics have to reach, and each: a maintainer in To, and more lists.
LISTS = {"linux-mm@kvack.org", "linux-kernel@vger.kernel.org"}
REACHED = {
    "zone-device-memmap": (
        "x86@kernel.org",
        "linux-hardening@vger.kernel.org",
        "linux-kselftest@vger.kernel.org",
        "nvdimm@lists.linux.dev",
    ),
    "memmap-tests": (
        "elver@google.com",
        "linux-hardening@vger.kernel.org",
        "kasan-dev@googlegroups.com",
    ),
    "boot-memmap": ("rppt@kernel.org",),
    "reserved-memmap": ("rppt@kernel.org",),
    "parallel-memmap": ("daniel.m.jordan@oracle.com", "linux-crypto@vger.kernel.org"),
    "online-memmap": ("david@kernel.org", "linux-cxl@vger.kernel.org"),
    "demotion": ("x86@kernel.org", "linux-hardening@vger.kernel.org", "kasan-dev@googlegroups.com"),
    "vmemmap": ("x86@kernel.org", "nvdimm@lists.linux.dev", "linux-fsdevel@vger.kernel.org"),
}


@each_topic
def test_recipients_are_those_of_every_patch(written: dict[Path, Path], topic: Path) -> None:
    cover = read_mail(min(written[topic].glob("*.eml")))
    to, cc = ({each.addr_spec for each in cover[name].addresses} for name in ("To", "Cc"))
    maintainer, *lists = REACHED[topic.name]
    assert {*lists, *LISTS} <= cc
    assert maintainer in to and not to & cc
