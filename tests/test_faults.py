# SPDX-License-Identifier: GPL-2.0
"""Every fault is one clear line and a non-zero exit, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Stage
from harness import accel, debian, guest, kernels, options, process, source

KERNEL = kernels.Kernel("base", "7.3.0-rc7-base", Path("bzImage"))


def fault_of(done: "subprocess.CompletedProcess[str]") -> str:
    """Return the one line of a stage that failed as it should."""
    assert done.returncode == 1, done
    [line] = done.stderr.splitlines()
    return line


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("SIZE", "100", "SIZE=100 is no whole number of GiB"),
        ("SIZE", "0G", "SIZE=0G"),
        ("SIZE", "2T", "SIZE=2T"),
        ("REBINDS", "0", "REBINDS=0 is no whole number from 1 to 1000"),
        ("REBINDS", "-1", "REBINDS=-1"),
        ("REBINDS", "many", "REBINDS=many"),
        ("BOOTS", "1.5", "BOOTS=1.5"),
        ("JOBS", "x", "JOBS=x"),
        ("ACCEL", "xen", "ACCEL=xen is neither kvm nor tcg nor icount"),
    ],
)
def test_bad_option(name: str, value: str, message: str) -> None:
    with pytest.raises(process.Fault, match=message):
        options.read({name: value})


def test_default_options() -> None:
    o = options.read({"SIZE": "", "REBINDS": ""})
    assert (o.gib, o.rebinds, o.boots, o.linux, o.accel) == (100, 30, 2, None, "")


def test_linux_is_no_repository(stage: Stage, tmp_path: Path) -> None:
    assert "is no git repository that can be read" in fault_of(stage("harness.source", LINUX=str(tmp_path / "nothing")))


def test_linux_is_no_kernel(stage: Stage, toy: Path) -> None:
    process.git(toy, "tag", "-d", "v7.3-rc7")
    process.git(toy, "rm", "-q", "Makefile")
    process.git(toy, "commit", "-q", "-m", "no kernel")
    assert "holds no kernel, the series needs v7.3-rc7" in fault_of(stage("harness.source", LINUX=str(toy)))


def test_linux_is_another_version(stage: Stage, toy: Path, tmp_path: Path) -> None:
    process.git(toy, "tag", "-d", "v7.3-rc7")
    (toy / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 0\nEXTRAVERSION =\n")
    process.git(toy, "commit", "-q", "-a", "-m", "older")
    assert "holds kernel 6.1.0, the series needs v7.3-rc7: fetch that tag there" in fault_of(
        stage("harness.source", LINUX=str(toy))
    )
    assert [path.name for path in (tmp_path / "build").iterdir()] == ["lock"]


def test_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "archives", lambda: ["http://127.0.0.1:9/debian"])
    with pytest.raises(process.Fault, match="offers linux-source-7.3: check the network, or set LINUX=.*onnect"):
        source.source(options.read({"BUILD": str(tmp_path)}))
    assert not list(tmp_path.glob("source-*"))


def test_too_little_disk(tmp_path: Path) -> None:
    with pytest.raises(
        process.Fault, match=r"the moon needs 1e\+06 GiB under .* GiB are free: make room, or set BUILD="
    ):
        process.need_disk(tmp_path, 1e6, "the moon")


def test_too_little_memory() -> None:
    with pytest.raises(process.Fault, match="two devices of 1000000 GiB need 31252.5 GiB of memory"):
        guest.need_memory(1000000)


def test_two_runs_at_once(stage: Stage, toy: Path, tmp_path: Path) -> None:
    with process.locked(tmp_path / "build"):
        assert f"another run (process {os.getpid()}) is using" in fault_of(stage("harness.source", LINUX=str(toy)))
    assert stage("harness.source", LINUX=str(toy)).returncode == 0


@pytest.mark.parametrize(
    "fragment, gone",
    [
        ("CONFIG_A=y\n# CONFIG_B is not set\n# a comment\nCONFIG_N=8\n", []),
        ("CONFIG_A=y\nCONFIG_C=y\n", ["CONFIG_C=y"]),
        ("CONFIG_N=64\n", ["CONFIG_N=64"]),
        ("# CONFIG_A is not set\n", ["# CONFIG_A is not set"]),
    ],
)
def test_vanished_fragment_line(fragment: str, gone: list[str]) -> None:
    assert kernels.vanished(fragment, "CONFIG_A=y\nCONFIG_N=8\n# CONFIG_D is not set\nCONFIG_AB=y\n") == gone


def test_failing_command_is_one_line_and_logged(tmp_path: Path) -> None:
    with pytest.raises(process.Fault, match=r"^building failed: a.c:1: error: no semicolon \(all of it: .*/log\)$"):
        process.run(
            [
                "sh",
                "-c",
                "echo '  CC utxferror.o'; echo 'a.c:1: error: no semicolon'; echo 'make: *** [a.o] Error 1'; exit 2",
            ],
            "building",
            log=tmp_path / "log",
        )
    assert (tmp_path / "log").read_text().count("\n") == 3


def test_missing_program() -> None:
    with pytest.raises(process.Fault, match="no-such-program is missing: run 'make setup'"):
        process.run(["no-such-program"], "x")


@pytest.fixture
def qemu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put a stand-in for QEMU first in PATH, and return what gives it a script; it notes its process id."""
    program = tmp_path / "bin/qemu-system-x86_64"
    program.parent.mkdir()
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    def fill(script: str) -> None:
        program.write_text(f"#!/bin/sh\necho $$ >{tmp_path}/pid\n{script}\n")
        program.chmod(0o755)

    return fill


def gone(pid_file: Path) -> bool:
    """Return whether the noted process is no more, given a moment."""
    pid = int(pid_file.read_text())
    for _ in range(50):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize(
    "script, message",
    [
        (
            "echo '[ 1.0] Linux'; echo '[ 1.1] Kernel panic - not syncing: x'; exec sleep 1000",
            r"base guest \(tcg\) complains: \[ 1.1\] Kernel panic",
        ),
        (
            "echo '[ 1.0] WARNING: CPU: 0 at mm/a.c'; echo '[ 1.1] Call Trace:'; exec sleep 1000",
            r"complains: \[ 1.0\] WARNING: CPU: 0 at mm/a.c",
        ),
        ("echo '[ 1.0] Linux'; exec sleep 1000", "is not done after 2 seconds|hangs: nothing for 2 seconds"),
        ("while :; do echo noise; done", "is not done after 2 seconds"),
        ("echo '[ 1.0] zdm: failed: ndctl'; exec sleep 1000", "failed: ndctl"),
        ("echo '[ 1.0] zdm: stage: up'", "ended without a last word"),
        ("echo 'cannot set up guest memory'; exit 1", "ended without a last word"),
    ],
)
def test_guest_that_fails(qemu: Callable[[str], None], tmp_path: Path, script: str, message: str) -> None:
    qemu(script)
    with pytest.raises(process.Fault, match=message) as caught:
        guest.boot(guest.Guest(KERNEL, Path("initramfs"), "tcg", 1), tmp_path / "log", lambda _: None, 2)
    assert gone(tmp_path / "pid")
    shown = caught.value.shown
    assert 0 < len(shown) <= guest.SHOWN and shown[-1] == (tmp_path / "log").read_text().splitlines()[-1]


def test_qemu_too_old(qemu: Callable[[str], None]) -> None:
    qemu("echo 'QEMU emulator version 5.2.0 (Debian 1:5.2)'")
    with pytest.raises(process.Fault, match="QEMU 5.2.0 is too old: 6.1 or later is needed"):
        guest.qemu_version()


def test_qemu_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(process.Fault, match="qemu-system-x86_64 is missing: run 'make setup'"):
        guest.qemu_version()


def test_kvm_that_hangs_is_not_used(
    qemu: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accel, "PROBE_SECONDS", 1)
    monkeypatch.setattr(os, "access", lambda *_: True)
    chosen = options.read({"BUILD": str(tmp_path)})
    qemu("case $* in *--version*) echo version 7.2.0; exit;; esac; exec sleep 1000")
    assert accel.accel(chosen, KERNEL, Path("initramfs")) == "tcg"
    assert gone(tmp_path / "pid")
    for kept in tmp_path.glob("accel-*"):
        kept.unlink()
    qemu("case $* in *--version*) echo version 7.2.0; exit;; esac; echo '[ 1.0] zdm: done'")
    assert accel.accel(chosen, KERNEL, Path("initramfs")) == "kvm"
    assert accel.accel(options.read({"BUILD": str(tmp_path), "ACCEL": "tcg"}), KERNEL, Path("initramfs")) == "tcg"


BOOT = """
from pathlib import Path
from harness import guest, kernels, process
kernel = kernels.Kernel("base", "", Path("bzImage"))
process.step("boot 1/4")
process.main(lambda: guest.boot(guest.Guest(kernel, Path("i"), "tcg", 1), Path("LOG"), lambda _: None, 600))
"""


@pytest.mark.parametrize(
    "number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGHUP, 130), (signal.SIGKILL, -9)]
)
def test_no_qemu_outlives_the_run(
    qemu: Callable[[str], None], tmp_path: Path, number: signal.Signals, status: int
) -> None:
    qemu("exec sleep 1000")
    child = subprocess.Popen(
        [sys.executable, "-B", "-c", BOOT.replace("LOG", str(tmp_path / "log"))],
        cwd=process.ROOT,
        text=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        # A background job of a shell, or one under nohup, ignores some of them.
        preexec_fn=lambda: [signal.signal(each, signal.SIG_DFL) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)],
    )
    for _ in range(100):
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
            break
        time.sleep(0.1)
    child.send_signal(number)
    _, told = child.communicate(timeout=20)
    assert child.returncode == status
    assert told == (
        "error: interrupted (boot 1/4); nothing half-made was kept, run it again\n" if status == 130 else ""
    )
    assert gone(tmp_path / "pid")
