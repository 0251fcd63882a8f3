# SPDX-License-Identifier: GPL-2.0
"""What is installed before a target runs, on a machine whose apt and pip are scripts."""

import os
import shutil
import sys
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
[ "$2" != pip ] || [ ! -e "$fake/pip" ] || { cat "$fake/pip"; exit 1; }
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


@pytest.mark.parametrize(
    "module", ["setup", "clean", "bench.measure", "link.race", "vm.shell", "kernel.export"]
)
def test_standard_library_is_enough(module: str) -> None:
    code = f"import sys, harness.{module}; sys.exit('site' in sys.modules)"
    command.run([sys.executable, "-S", "-B", "-c", code], module, cwd=folders.ROOT)


def test_objects_need_no_guest(fake: Fake) -> None:
    fake.provide("objects")
    assert (fake.home / "installed").read_text().split() == [*setup.OBJECTS]
    assert not {*setup.GUEST, *setup.VENV, "qemu-system-x86"} & {*setup.OBJECTS}
    assert not (fake.build / "venv").exists()


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
    fake.provide("tables")
    assert (fake.build / "venv/bin/python").exists()
    fake.take_calls()
    capfd.readouterr()
    # Not even the lock is taken, so that two runs can begin at once. What is to do waits for it.
    with folders.lock_build(fake.build):
        fake.provide("tables")
        with pytest.raises(errors.UserError, match="another run"):
            fake.provide("test")
    assert fake.take_calls() == []
    assert capfd.readouterr() == ("", "")


def test_other_machine(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = os.uname_result(("Linux", "host", "6.1", "", "aarch64"))
    monkeypatch.setattr("os.uname", lambda: machine)
    with pytest.raises(
        errors.UserError, match="^this host is aarch64: kernels are built on x86-64"
    ):
        fake.provide("bench")
    assert fake.take_calls() == [] and not fake.build.exists()
    fake.provide("check")


@pytest.mark.parametrize("user", [0, 1000])
def test_packages_that_cannot_be_installed(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, user: int
) -> None:
    """Root's apt-get fails, and the other user has no sudo."""
    monkeypatch.setattr("os.geteuid", lambda: user)
    fake.put("install")
    if user:
        monkeypatch.setenv("PATH", str(fake.home))
    told = "^packages could not be installed: as root, run 'apt-get install gcc libc6-dev .*'"
    with pytest.raises(errors.UserError, match=told):
        fake.provide("tables")
    assert not (fake.build / "venv").exists()


def test_other_distribution(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (fake.home / "dpkg-query").unlink()
    monkeypatch.setenv("PATH", str(fake.home))
    fake.provide("bench")
    assert "have to be there, by Debian's names: gcc libc6-dev " in capsys.readouterr().out
    assert fake.take_calls() == []


def test_what_an_environment_is_made_anew_for(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For one that is not whole, for other lists, and in another place."""

    def is_made() -> bool:
        fake.provide("tables")
        return bool(fake.take_calls("python3 -m venv"))

    lists = [tmp_path / path.name for path in setup.LISTS]
    for path, copied in zip(setup.LISTS, lists, strict=True):
        shutil.copy(path, copied)
    monkeypatch.setattr(setup, "LISTS", lists)
    fake.put("pip", "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES")
    with pytest.raises(errors.UserError, match=r"DO NOT MATCH THE HASHES \(full log: .*log\)$"):
        is_made()
    assert " --require-hashes " in fake.take_calls("python3 -m pip")[0]
    (fake.home / "pip").unlink()
    assert (is_made(), is_made()) == (True, False)
    with lists[1].open("a") as file:
        file.write("six==1.17.0\n")
    assert (is_made(), is_made()) == (True, False)
    fake.build = fake.build.rename(tmp_path / "moved")
    assert (is_made(), is_made()) == (True, False)
