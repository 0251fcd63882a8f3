# SPDX-License-Identifier: GPL-2.0
"""The real series as mail that is ready to send: b4 takes it, and it goes to whom it concerns."""

from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path

import pytest
from support import read_mail

from harness.core import command, options
from harness.kernel import source, topics, tree
from review import outbox

AUTHOR = "Jörg O'Tester <joerg@example.org>"


STACK = topics.list_topics()
ENDS = ["base", *(topics.name_branch(topic, STACK[-1]) for topic in STACK)]


@dataclass(frozen=True)
class Sent:
    """A topic as it was written: where, between which branches, how many patches."""

    topic: Path
    home: Path
    begin: str
    end: str

    @property
    def count(self) -> int:
        return len(topics.list_files(self.topic))

    @property
    def cover(self) -> EmailMessage:
        return read_mail(min(self.home.glob("*.eml")))


@pytest.fixture(scope="module")
def written(
    chosen: options.Options, trees: tree.Trees, tmp_path_factory: pytest.TempPathFactory
) -> list[Path]:
    """The topics of series/, by somebody and with no tag for the version before."""
    home = tmp_path_factory.mktemp("outbox")
    versions = dict.fromkeys(STACK, 1)
    return outbox.write_sets(chosen, trees, versions, outbox.read_author(AUTHOR), home, home)


@pytest.fixture(scope="module", params=STACK, ids=lambda topic: topic.name)
def real(request: pytest.FixtureRequest, written: list[Path]) -> Sent:
    """A topic of series/ as it was written."""
    at = STACK.index(request.param)
    return Sent(request.param, written[at], ENDS[at], ENDS[at + 1])


def test_b4_am(trees: tree.Trees, real: Sent, tmp_path: Path) -> None:
    """b4 takes the mails, offline, and git makes the topic's tree of them."""
    source.borrow_objects(trees.base, tmp_path / "clone")
    clone = tmp_path / "clone"
    command.git(clone, "sparse-checkout", "set", "--no-cone", "/Makefile")
    begin = command.git(trees.base, "rev-parse", f"{real.begin}^{{commit}}")
    command.git(clone, "checkout", "-q", "--detach", begin)
    own = {name: str(tmp_path) for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")}
    words = ["-c", "b4.attestation-policy=off", "--offline-mode", "am", "--no-cache"]
    sent = real.home / f"{real.home.name}.mbox"
    am: list[str | Path] = [outbox.B4, *words, "-m", sent, "-o", tmp_path / "am"]
    told = command.run(am, "b4", cwd=clone, env=own)
    assert f"Total patches: {real.count}\n" in told and "applies clean to current tree" in told
    assert "ERROR" not in told and "missing" not in told.lower()
    [mbox] = (tmp_path / "am").glob("*.mbx")
    command.git(clone, "am", "-q", mbox)
    end = command.git(trees.base, "rev-parse", f"{real.end}^{{tree}}")
    have, want = command.git(clone, "rev-parse", "HEAD^{tree}", end).split()
    assert have == want
    authors = command.git(clone, "log", "--format=%an <%ae>", f"-{real.count}").splitlines()
    assert set(authors) == {AUTHOR}


def test_cover_names_what_it_stands_on(real: Sent) -> None:
    text = real.cover.get_content()
    below = [topic.name for topic in STACK[: STACK.index(real.topic)]]
    assert (f"\nApplies on top of: {', '.join(below)}\n" in text) == bool(below)


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
    "parallel-memmap": ("daniel.m.jordan@oracle.com", "linux-crypto@vger.kernel.org"),
    "online-memmap": ("david@kernel.org", "linux-cxl@vger.kernel.org"),
    "hugetlb-memmap": ("muchun.song@linux.dev",),
    "demotion": ("x86@kernel.org", "linux-hardening@vger.kernel.org", "kasan-dev@googlegroups.com"),
}


def test_recipients_are_those_of_every_patch(real: Sent) -> None:
    to, cc = ({each.addr_spec for each in real.cover[name].addresses} for name in ("To", "Cc"))
    maintainer, *lists = REACHED[real.topic.name]
    assert {*lists, *LISTS} <= cc
    assert maintainer in to and not to & cc
