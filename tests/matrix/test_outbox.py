# SPDX-License-Identifier: GPL-2.0
"""The real series as mail that is ready to send: b4 takes it, and it goes to whom it concerns."""

import email
import email.policy
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path

import pytest

from harness.core import command, options
from harness.kernel import topics, tree
from review import outbox

Run = Callable[..., str]
AUTHOR = "Jörg O'Tester <joerg@example.org>"
B4 = Path(sys.executable).parent / "b4"


STACK = topics.list_topics()
VERSION = 2
ENDS = ["base", *(topics.name_branch(topic, STACK[-1]) for topic in STACK)]


def parsed(mail: Path) -> EmailMessage:
    return email.message_from_bytes(mail.read_bytes(), policy=email.policy.default)


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
    def mbox(self) -> Path:
        return self.home / f"{self.home.name}.mbox"

    @property
    def cover(self) -> EmailMessage:
        return parsed(min(self.home.glob("*.eml")))


@pytest.fixture(scope="module")
def written(
    chosen: options.Options, trees: tree.Trees, tmp_path_factory: pytest.TempPathFactory
) -> list[Path]:
    """The topics of series/, by somebody and with no tag for the version before."""
    home = tmp_path_factory.mktemp("outbox")
    versions = dict.fromkeys(STACK, VERSION)
    return outbox.write_sets(chosen, trees, versions, outbox.read_author(AUTHOR), home, home)


@pytest.fixture(scope="module", params=STACK, ids=lambda topic: topic.name)
def real(request: pytest.FixtureRequest, written: list[Path]) -> Sent:
    """A topic of series/ as it was written."""
    at = STACK.index(request.param)
    return Sent(request.param, written[at], ENDS[at], ENDS[at + 1])


@pytest.fixture
def b4(trees: tree.Trees, real: Sent, tmp_path: Path) -> Run:
    """Run b4, told to stay offline, in a clone that is at what the topic stands on."""
    clone = tmp_path / "clone"
    command.git(tmp_path, "init", "-q", clone)
    command.git(clone, "config", "core.sparseCheckout", "true")
    (clone / ".git/objects/info/alternates").write_text(f"{trees.base / '.git/objects'}\n")
    for name, value in (
        ("user.name", "Jörg O'Tester"),
        ("user.email", "joerg@example.org"),
        ("b4.attestation-policy", "off"),
    ):
        command.git(clone, "config", name, value)
    command.git(clone, "sparse-checkout", "set", "--no-cone", "/Makefile")
    command.git(
        clone,
        "checkout",
        "-q",
        "-b",
        "work",
        command.git(trees.base, "rev-parse", f"{real.begin}^{{commit}}"),
    )

    def call(*words: str | Path, **env: str) -> str:
        own = {name: str(tmp_path) for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")}
        done = subprocess.run(
            [B4, "--offline-mode", *words],
            cwd=clone,
            text=True,
            timeout=300,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | own | {"GIT_CONFIG_NOSYSTEM": "1"} | env,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    return call


def test_b4_am(b4: Run, real: Sent, tmp_path: Path) -> None:
    told = b4("am", "--no-cache", "-m", real.mbox, "-o", tmp_path / "am")
    assert f"Total patches: {real.count}\n" in told and "applies clean to current tree" in told
    assert "ERROR" not in told and "missing" not in told.lower()


def test_b4_shazam_and_send(b4: Run, real: Sent, trees: tree.Trees, tmp_path: Path) -> None:
    b4("shazam", "--no-cache", "-m", real.mbox)
    clone = tmp_path / "clone"
    assert command.git(clone, "rev-parse", "HEAD^{tree}") == command.git(
        trees.base, "rev-parse", f"{real.end}^{{tree}}"
    )
    assert set(command.git(clone, "log", "--format=%an <%ae>", f"-{real.count}").splitlines()) == {
        AUTHOR
    }
    b4("prep", "--enroll", command.git(trees.base, "rev-parse", f"{real.begin}^{{commit}}"))
    mail = real.cover
    title = str(mail["Subject"]).split("] ", 1)[1]
    text = mail.get_content().split("\n---\n", 1)[0]
    (tmp_path / "cover").write_text(f"{title}\n\n{text}\n\nTo: {mail['To']}\nCc: {mail['Cc']}\n")
    b4("prep", "--edit-cover", EDITOR=f"cp {tmp_path / 'cover'}")
    b4("prep", "--force-revision", str(VERSION))
    if "RFC" in str(mail["Subject"]):
        b4("prep", "--set-prefixes", "RFC")
    assert f"Would have sent {real.count + 1} messages" in b4(
        "send", "--no-sign", "-o", tmp_path / "out"
    )
    sent = sorted((tmp_path / "out").iterdir())
    assert len(sent) == real.count + 1
    assert str(parsed(sent[0])["Subject"]) == str(mail["Subject"])


def test_cover_names_what_it_stands_on(real: Sent) -> None:
    text = real.cover.get_content()
    below = [topic.name for topic in STACK[: STACK.index(real.topic)]]
    assert (f"\nApplies on top of: {', '.join(below)}\n" in text) == bool(below)


# Whom each topic has to reach: lists, and maintainers in To.
REACHED = {
    "zone-device-memmap": (
        {
            "linux-mm@kvack.org",
            "linux-hardening@vger.kernel.org",
            "linux-kselftest@vger.kernel.org",
            "nvdimm@lists.linux.dev",
        },
        "x86@kernel.org",
    ),
    "memmap-tests": (
        {"linux-mm@kvack.org", "linux-hardening@vger.kernel.org", "kasan-dev@googlegroups.com"},
        "elver@google.com",
    ),
    "boot-memmap": ({"linux-mm@kvack.org"}, "rppt@kernel.org"),
    "parallel-memmap": (
        {"linux-mm@kvack.org", "linux-crypto@vger.kernel.org"},
        "daniel.m.jordan@oracle.com",
    ),
    "demotion": (
        {"linux-mm@kvack.org", "linux-hardening@vger.kernel.org", "kasan-dev@googlegroups.com"},
        "x86@kernel.org",
    ),
}


def test_recipients_are_those_of_every_patch(real: Sent) -> None:
    to, cc = ({each.addr_spec for each in real.cover[name].addresses} for name in ("To", "Cc"))
    lists, maintainer = REACHED[real.topic.name]
    assert lists | {"linux-kernel@vger.kernel.org"} <= cc
    assert maintainer in to and not to & cc
