# SPDX-License-Identifier: GPL-2.0
"""QEMU: whether it has KVM, and what ends with a guest that fails."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.core import errors, options
from harness.kernel import images
from harness.vm import accel, guest, shell

KERNEL = images.Kernel("base", "7.3.0-rc7-base", Path("bzImage"))
GUEST = guest.Guest(KERNEL, Path("initramfs"), "tcg", 1)
# A QEMU that tells its version, and else runs a guest.
VERSION = "case $* in *--version*) echo version 7.2.0; exit;; esac; "
HANG = "exec sleep 1000"


def gone(pid_file: Path) -> bool:
    """Return whether the process in pid_file ends within a few seconds."""
    pid = int(pid_file.read_text())
    for _ in range(50):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.1)
    return False


def test_guest_that_fails(qemu: Callable[[str], None], tmp_path: Path) -> None:
    qemu(f"echo '[ 1.1] Kernel panic - not syncing: x'; {HANG}")
    log = tmp_path / "log"
    complaint = r"base guest \(tcg\) complains: \[ 1.1\] Kernel panic"
    with pytest.raises(errors.UserError, match=complaint) as caught:
        guest.boot_guest(GUEST, log, lambda _: None, 2)
    assert gone(tmp_path / "pid")
    assert log.read_text().startswith("$ qemu-system-x86_64 -machine q35,nvdimm=on,")
    assert [*caught.value.shown] == log.read_text().splitlines()[1:]


def test_kvm_is_used_where_a_probe_boot_works(
    qemu: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the probe says is kept, but not that there is no KVM."""
    monkeypatch.setattr(accel, "PROBE_SECONDS", 1)

    def choose(build: str, script: str, there: bool, **env: str) -> str:
        monkeypatch.setattr(accel, "find_fault", lambda _: "" if there else "there is none")
        qemu(f"{VERSION} {script}")
        chosen = options.read_options({"BUILD": str(tmp_path / build), **env})
        chosen.build.mkdir(exist_ok=True)
        return accel.choose_accel(chosen, KERNEL, Path("initramfs"))

    works = "echo '[ 1.0] zdm: done'"
    assert [choose("a", works, there) for there in (False, True, False)] == ["tcg", "kvm", "tcg"]
    assert choose("a", works, True, ACCEL="tcg") == "tcg"
    assert choose("b", HANG, True) == "tcg" and gone(tmp_path / "pid")
    assert choose("b", works, True) == "tcg"


def test_memory_for_a_shell_is_looked_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not when a kernel was built for it."""
    monkeypatch.setenv("BUILD", str(tmp_path / "build"))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr(shell, "check_qemu", lambda _: "7.2")
    monkeypatch.setattr(guest, "find_free_memory", lambda: 1.0)
    monkeypatch.setattr(shell, "apply_series", lambda _: pytest.fail("the tree was made"))
    with pytest.raises(errors.UserError, match="but 1.0 GiB are free"):
        shell.run_shell()
