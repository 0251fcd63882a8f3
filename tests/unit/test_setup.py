# SPDX-License-Identifier: GPL-2.0
"""What is installed before a target runs, on a machine whose apt and pip are scripts."""

import os
from pathlib import Path

import pytest

from harness import setup
from harness.core import command, errors, folders, options

# Each notes how it was called. apt-get fails where there is a file update or install.
FAKES = {
    "apt-get": """
echo "apt-get $*" >>"$fake/calls"
[ ! -e "$fake/$2" ] || exit 100
[ "$2" != update ] || exit 0
[ ! -e "$fake/$4" ] || exit 100
shift 4
printf '%s\\n' "$@" >>"$fake/installed"
""",
    "dpkg-query": """
shift 3
for name; do
	! grep -qx "$name" "$fake/installed" || echo "$name=installed"
done
""",
    # What makes an environment, whose Python then takes pip's part.
    "python3": """
echo "python3 $*" >>"$fake/calls"
[ "$2" != venv ] || { mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; }
""",
}


class Fake:
    """The machine: the files that steer the scripts, and what was called."""

    def __init__(self, home: Path) -> None:
        self.home = home
        for name, text in FAKES.items():
            self.put(name, f"#!/bin/sh\nfake={home}\n{text}")
            (home / name).chmod(0o755)
        self.put("installed")
        self.put("calls")
        self.build = home.parent / "build"

    def provide(self, what: str) -> None:
        setup.provide(what, options.read_options({"BUILD": str(self.build)}))

    def put(self, name: str, text: str = "") -> None:
        (self.home / name).write_text(text)

    def take_calls(self, start: str = "") -> list[str]:
        """Return the calls since the last time, those that start so."""
        calls = (self.home / "calls").read_text().splitlines()
        self.put("calls")
        return [call for call in calls if call.startswith(start)]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """A machine of scripts, where we are root."""
    (tmp_path / "fake").mkdir()
    made = Fake(tmp_path / "fake")
    monkeypatch.setenv("PATH", f"{made.home}:{os.environ['PATH']}")
    monkeypatch.setattr(setup, "PYTHON", made.home / "python3")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    return made


@pytest.mark.parametrize(
    ("words", "told"), [([], "build"), (["BUILD="], "build"), (["BUILD=a b"], "a b")]
)
def test_empty_build_is_the_default(words: list[str], told: str) -> None:
    """As a part of a path, it would be the root."""
    show = ["make", "-s", "--eval=show:;@echo $$BUILD", "show"]
    assert command.run([*show, *words], "make", cwd=folders.ROOT) == f"{told}\n"


def test_foreign_build_installs_nothing(fake: Fake) -> None:
    fake.build.mkdir()
    (fake.build / "thesis").touch()
    with pytest.raises(errors.UserError, match="holds files that are not the harness's"):
        fake.provide("bench")
    assert fake.take_calls() == []


def test_second_time_does_nothing(fake: Fake, capfd: pytest.CaptureFixture[str]) -> None:
    fake.put("installed", "bc\nflex\n")
    # A broken source of apt, of which it only warns.
    fake.put("update")
    fake.provide("bench")
    packages = [*setup.OBJECTS, *setup.GUEST, "qemu-system-x86"]
    missing = [name for name in packages if name not in ("bc", "flex")]
    assert fake.take_calls("apt-get") == [
        "apt-get -q update",
        f"apt-get -q -y --no-install-recommends install {' '.join(missing)}",
    ]
    # make bench needs no Python package.
    assert not (fake.build / "venv").exists()
    # One of other lists is made anew.
    for _ in range(2):
        fake.provide("tables")
        assert " --require-hashes " in fake.take_calls("python3 -m pip")[-1]
        (fake.build / "venv/key").write_text("another")
    fake.provide("tables")
    fake.take_calls()
    capfd.readouterr()
    # Not even the lock is taken, so that two runs can begin at once. What is to do waits for it.
    with folders.lock_build(fake.build):
        fake.provide("tables")
        with pytest.raises(errors.UserError, match="another run"):
            fake.provide("test")
    assert fake.take_calls() == []
    assert capfd.readouterr() == ("", "")


def test_packages_that_cannot_be_installed(fake: Fake) -> None:
    fake.put("install")
    told = "^packages could not be installed: as root, run 'apt-get install gcc libc6-dev .*'"
    with pytest.raises(errors.UserError, match=told):
        fake.provide("tables")
    assert not (fake.build / "venv").exists()
