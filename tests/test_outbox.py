# SPDX-License-Identifier: GPL-2.0
"""The set that `make outbox` writes: by whom, to whom, with what; and that b4, offline, takes it and would send it."""

import email
import email.policy
import mailbox
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path

import pytest

from conftest import Stage
from harness import options, process, tree
from review import outbox

AUTHOR = "Jörg O'Tester <joerg@example.org>"
B4 = Path(sys.executable).parent / "b4"
# Stands in for the kernel's script where there is no kernel.
MAINTAINER = "#!/bin/sh\necho 'A Maintainer <a@example.org> (maintainer:MM)'\necho 'joerg@example.org (reviewer:MM)'\necho 'list@example.org (open list:MM)'\n"


STACK = tree.topics()
ENDS = ["base", *(tree.end_of(topic, STACK[-1]) for topic in STACK)]


@dataclass(frozen=True)
class Sent:
    """A topic as it was written: where, between which branches, how many patches."""

    topic: Path
    home: Path
    begin: str
    end: str

    @property
    def count(self) -> int:
        return len(tree.patches(self.topic))


def parsed(mail: Path) -> EmailMessage:
    return email.message_from_bytes(mail.read_bytes(), policy=email.policy.default)  # type: ignore[return-value]


@pytest.fixture
def project(tmp_path: Path, toy_series: Path) -> Path:
    """A repository whose series/ is the toy's."""
    process.git(tmp_path, "init", "-q")
    process.git(tmp_path, "add", "series")
    process.git(tmp_path, "commit", "-q", "-m", "series")
    return tmp_path


@pytest.fixture
def write(toy_options: options.Options, toy_series: Path, project: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Run the stage on the toy, with variables of make."""
    script = tree.tree(toy_options, toy_series).series / "scripts/get_maintainer.pl"
    script.parent.mkdir()
    script.write_text(MAINTAINER)
    script.chmod(0o755)
    return lambda **env: outbox.outbox(toy_options, {"AUTHOR": AUTHOR} | env, toy_series, project)


@pytest.mark.parametrize(
    "author",
    ["", "Name", "mail@example.org", "<mail@example.org>", " <mail@example.org>", "Name <>", "Name <mail>", "Name <@example.org>", "Name <a@b> x",
     "Name <a@b.c>\nSigned-off-by: B <b@b.c>", "Na\nme <a@b.c>", "Name <a b@c.d>", '"Name" <a@b.c>', "Name <a@b.c,d@e.f>"],
)  # fmt: skip
def test_malformed_author(stage: Stage, author: str, tmp_path: Path) -> None:
    done = stage("review.outbox", AUTHOR=author)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert 'is not of the form "Name <mail>": say who sends the patches' in done.stderr
    assert not (tmp_path / "build/outbox").exists()


@pytest.mark.parametrize(
    "text, known, expected",
    [
        ("", [], 1), ("", [1, 2], 3), ("1", [], 1), ("2", [], 2), ("2", [1], 2), ("3", [1, 2], 3),
        ("0", [], "VERSION=0 is no whole number from 1 to 999"), ("x", [], "VERSION=x is no"), ("1.5", [], "VERSION=1.5 is no"), ("-1", [], "VERSION=-1 is no"),
        ("3", [], "VERSION=3, but nothing says that version 2 of a was sent: run 'git tag sent/a-v2 COMMIT'"),
        ("4", [1, 2], "nothing says that version 3 of a was sent"),
        ("2", [1, 2], "VERSION=2 of a was sent, as the tag sent/a-v2 says: the next one is 3"),
    ],
)  # fmt: skip
def test_version(text: str, known: list[int], expected: int | str) -> None:
    if isinstance(expected, int):
        assert outbox.version_of(text, "a", known) == expected
    else:
        with pytest.raises(process.Fault, match=expected):
            outbox.version_of(text, "a", known)


def test_set(write, project: Path, toy: Path, toy_series: Path) -> None:  # type: ignore[no-untyped-def]
    before = {file: file.read_bytes() for file in toy_series.rglob("*.patch")}
    first, second = write()
    assert sorted(file.name for file in first.iterdir()) == [
        "0000-cover-letter.patch", "0001-mm-improve-line-3.patch", "0002-mm-improve-line-9.patch", "a-v1.mbox"]  # fmt: skip
    assert sorted(file.name for file in second.iterdir()) == ["0001-mm-improve-line-15.patch", "b-v1.mbox"]
    mails = [parsed(file) for file in sorted(first.glob("*.patch"))]
    for mail in mails:
        assert str(mail["From"]) == AUTHOR
        assert (str(mail["To"]), str(mail["Cc"])) == ("A Maintainer <a@example.org>", "list@example.org")
        assert not mail.defects
    assert [str(mail["Subject"]).split("]")[0] for mail in mails] == ["[PATCH 0/2", "[PATCH 1/2", "[PATCH 2/2"]
    texts = [mail.get_content() for mail in mails]
    assert "They were not good." in texts[0] and "Jörg O'Tester (2):\n  mm: improve line 3\n" in texts[0] and "*** " not in texts[0]
    assert f"base-commit: {process.git(toy, 'rev-parse', 'v7.3-rc7')}" in texts[0]
    assert all(f"\n\n{outbox.ASSISTED}\nSigned-off-by: {AUTHOR}\n---\n" in text for text in texts[1:])
    assert "author@example.org" not in "".join(file.read_text() for file in first.iterdir())
    assert len(mailbox.mbox(first / "a-v1.mbox")) == 3
    assert {file: file.read_bytes() for file in toy_series.rglob("*.patch")} == before


def test_nothing_is_overwritten(write, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    home = write()[0]
    (home / "0001-mm-improve-line-3.patch").write_text("edited by hand")
    shutil.rmtree(home.parent / "b-v1")
    with pytest.raises(process.Fault, match="a-v1 exists and is not overwritten: delete it, or tag what was sent as sent/a-v1"):
        write()
    assert (home / "0001-mm-improve-line-3.patch").read_text() == "edited by hand"
    assert [folder.name for folder in home.parent.iterdir()] == ["a-v1"]


def test_second_version(write, project: Path, toy_series: Path, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    for name in ("a", "b"):
        process.git(project, "tag", f"sent/{name}-v1")
    patch = toy_series / "a/0002-mm-improve-line-9.patch"
    patch.write_text(patch.read_text().replace("better 9", "best 9"))
    cover = (write(VERSION="2")[0] / "v2-0000-cover-letter.patch").read_text()
    assert "Subject: [PATCH v2 0/2] mm: improve lines" in cover
    assert "Range-diff against v1:\n" in cover and "-+better 9;" in cover and "++best 9;" in cover
    assert "++Signed-off-by" not in cover
    assert "no range-diff" not in capsys.readouterr().out


def test_second_version_of_the_unknown(write, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    assert "Range-diff" not in (write(VERSION="2")[0] / "v2-0000-cover-letter.patch").read_text()
    assert "no tag sent/a-v1, so no range-diff" in capsys.readouterr().out


@pytest.fixture(scope="module", params=STACK, ids=lambda topic: topic.name)
def real(request: pytest.FixtureRequest, chosen: options.Options, trees: tree.Tree, tmp_path_factory: pytest.TempPathFactory) -> Sent:
    """A topic of series/ as version 2, by somebody."""
    home = tmp_path_factory.mktemp("outbox") / "topic-v2"
    at = STACK.index(request.param)
    made = Sent(request.param, home, ENDS[at], ENDS[at + 1])
    outbox.write(chosen, trees, made.topic, (made.begin, made.end), outbox.author_of(AUTHOR), 2, home.parent, home)
    return made


@pytest.fixture
def b4(trees: tree.Tree, real: Sent, tmp_path: Path):  # type: ignore[no-untyped-def]
    """Run b4, told to stay offline, in a clone that is at what the topic stands on."""
    clone = tmp_path / "clone"
    for words in (["init", "-q", clone], ["-C", clone, "config", "core.sparseCheckout", "true"]):
        process.run(["git", *words], "git")
    (clone / ".git/objects/info/alternates").write_text(f"{trees.base / '.git/objects'}\n")
    for name, value in (("user.name", "Jörg O'Tester"), ("user.email", "joerg@example.org"), ("b4.attestation-policy", "off")):
        process.git(clone, "config", name, value)
    process.git(clone, "sparse-checkout", "set", "--no-cone", "/Makefile")
    process.git(clone, "checkout", "-q", "-b", "work", process.git(trees.base, "rev-parse", f"{real.begin}^{{commit}}"))

    def call(*words: str | Path, **env: str) -> str:
        done = subprocess.run(
            [B4, "--offline-mode", *words], cwd=clone, text=True, timeout=300, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=os.environ | {"HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1", "XDG_CACHE_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)} | env,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        return done.stdout

    return call


def test_b4_am(b4, real: Sent, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    told = b4("am", "--no-cache", "-m", real.home / "topic-v2.mbox", "-o", tmp_path / "am")
    assert f"Total patches: {real.count}\n" in told and "applies clean to current tree" in told
    assert "ERROR" not in told and "missing" not in told.lower()


def test_b4_shazam_and_send(b4, real: Sent, trees: tree.Tree, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    b4("shazam", "--no-cache", "-m", real.home / "topic-v2.mbox")
    clone = tmp_path / "clone"
    assert process.git(clone, "rev-parse", "HEAD^{tree}") == process.git(trees.base, "rev-parse", f"{real.end}^{{tree}}")
    assert set(process.git(clone, "log", "--format=%an <%ae>", f"-{real.count}").splitlines()) == {AUTHOR}
    b4("prep", "--enroll", process.git(trees.base, "rev-parse", f"{real.begin}^{{commit}}"))
    mail = parsed(real.home / "v2-0000-cover-letter.patch")
    title = str(mail["Subject"]).split("] ", 1)[1]
    (tmp_path / "cover").write_text(f"{title}\n\n{mail.get_content().split('Range-diff')[0]}\n\nTo: {mail['To']}\nCc: {mail['Cc']}\n")
    b4("prep", "--edit-cover", EDITOR=f"cp {tmp_path / 'cover'}")
    b4("prep", "--force-revision", "2")
    assert f"Would have sent {real.count + 1} messages" in b4("send", "--no-sign", "-o", tmp_path / "out")
    sent = sorted((tmp_path / "out").iterdir())
    assert len(sent) == real.count + 1
    assert str(parsed(sent[0])["Subject"]) == str(mail["Subject"])


def test_cover_names_what_it_stands_on(real: Sent) -> None:
    text = parsed(real.home / "v2-0000-cover-letter.patch").get_content()
    below = [topic.name for topic in STACK[: STACK.index(real.topic)]]
    assert (f"\nApplies on top of: {', '.join(below)}\n" in text) == bool(below)


# Whom each topic has to reach: lists, and maintainers in To.
REACHED = {
    "zone-device-memmap": ({"linux-mm@kvack.org", "linux-hardening@vger.kernel.org", "linux-kselftest@vger.kernel.org", "nvdimm@lists.linux.dev"}, "x86@kernel.org"),
    "memmap-tests": ({"linux-mm@kvack.org", "linux-hardening@vger.kernel.org", "kasan-dev@googlegroups.com"}, "elver@google.com"),
}


def test_recipients_are_those_of_every_patch(real: Sent) -> None:
    mails = sorted(real.home.glob("*.patch"))
    to, cc = ({each.addr_spec for each in parsed(mails[0])[name].addresses} for name in ("To", "Cc"))
    lists, maintainer = REACHED[real.topic.name]
    assert lists | {"linux-kernel@vger.kernel.org"} <= cc
    assert maintainer in to and not to & cc
