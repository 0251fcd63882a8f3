# SPDX-License-Identifier: GPL-2.0
"""harness/core: how programs are run, the variables of make, the description of a CPU."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.core import command, cpu, errors, folders, host, options
from support import Builder

BUILD = ["  CC utxferror.o", "a.c:1: error: no semicolon", "make: *** [a.o] Error 1"]
# The peer's differences are told in small letters.
COMPARISON = ["differs type=1", "DIFFERS type=2"]


@pytest.mark.parametrize(("lines", "why"), [(BUILD, BUILD[1]), (COMPARISON, COMPARISON[1])])
def test_failing_command_is_one_line_and_logged(tmp_path: Path, lines: list[str], why: str) -> None:
    log = tmp_path / "log"
    with pytest.raises(errors.UserError, match=rf"^making failed: {why} \(full log: {log}\)$"):
        command.run(["sh", "-c", 'printf "%s\\n" "$@"; exit 2', "sh", *lines], "making", log=log)
    assert log.read_text().splitlines() == lines


def test_program_of_another_folder(tmp_path: Path) -> None:
    """A kernel's script is named from the tree that it runs in."""
    (tmp_path / "script").write_text("#!/bin/sh\necho ran\n")
    with pytest.raises(errors.UserError, match="script is missing"):
        command.run(["./script"], "script", cwd=tmp_path)
    (tmp_path / "script").chmod(0o755)
    assert command.run(["./script"], "script", cwd=tmp_path) == "ran\n"


CHANGING = "KCFLAGS LLVM ARCH KCONFIG_CONFIG MAKEFLAGS MFLAGS CROSS_COMPILE GIT_DIR LANGUAGE"


def test_environment_of_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables that change what make, git or a compiler does are not passed on."""
    for name in (*CHANGING.split(), "LC_ALL", "https_proxy"):
        monkeypatch.setenv(name, "the user's")
    environment = dict(line.split("=", 1) for line in command.run(["env"], "env").splitlines())
    assert not environment.keys() & {*CHANGING.split()}
    assert environment["LC_ALL"] == "C.UTF-8"
    assert environment["https_proxy"] == "the user's"
    assert environment["PATH"]


def test_measurements_do_not_mix() -> None:
    paths = {options.read_options(words).name_result("bench") for words in ({}, {"ARCH": "arm64"})}
    assert len(paths) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("SIZE=100", "SIZE=100 must be a whole number of GiB"),
        ("SIZE=1G", "from 2G to 1024G"),
        ("REBINDS=0", "REBINDS=0 must be a whole number from 1 to 1000"),
        ("ACCEL=xen", "ACCEL=xen must be one of kvm, tcg"),
        ("ARCH=arm64 ACCEL=kvm", "ACCEL=kvm cannot run an arm64 guest"),
    ],
)
def test_bad_option(words: str, message: str) -> None:
    with pytest.raises(errors.UserError, match=message):
        options.read_options(dict(word.split("=") for word in words.split()))


INFO = (
    "processor\t: 0\nvendor_id\t: {}\ncpu family\t: {}\nmodel\t\t: {}\n"
    "model name\t: A CPU\nstepping\t: 8\nflags\t\t: fpu {}\n\nprocessor\t: 1\nmodel name\t: other\n"
)


@pytest.mark.parametrize(
    ("vendor", "family", "model", "flag", "known"),
    [
        ("GenuineIntel", 6, 143, "amx_tile", " (Sapphire Rapids)"),
        ("GenuineIntel", 6, 167, "amx_tile", " (Sapphire Rapids or later, its model masked)"),
        ("GenuineIntel", 6, 167, "avx512f", ""),
        ("AuthenticAMD", 25, 17, "", " (Zen 4)"),
    ],
)
def test_description_of_a_cpu(vendor: str, family: int, model: int, flag: str, known: str) -> None:
    description = cpu.describe_cpu(INFO.format(vendor, family, model, flag))
    assert description == f"A CPU, family {family} model {model} stepping 8{known}"


def test_memmap_is_compared_without_debians_package() -> None:
    """The main comparison then has the configuration of the VM, and is not skipped."""
    builder = object.__new__(Builder)
    for config, name in (("debian", "debian"), ("default", "")):
        builder.options = options.read_options({"CONFIG": config})
        assert builder.name_config("debian") == name
    builder.need_config(builder.name_config("debian"))


@pytest.mark.parametrize(
    ("limit", "used", "cached", "gib"), [("max", 0, 0, 8), ("3", 2, 1, 2), ("32", 2, 0, 8)]
)
def test_memory_and_cpus_of_a_container(
    limit: str, used: int, cached: int, gib: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """8 GiB are free, but a group above that of this process may have less."""
    monkeypatch.setattr(host, "PROC", tmp_path)
    monkeypatch.setattr(host, "CGROUPS", tmp_path / "groups")
    group = tmp_path / "groups/a"
    for folder in (tmp_path / "self", group / "b"):
        folder.mkdir(parents=True)
    (tmp_path / "meminfo").write_text(f"MemFree: 1 kB\nMemAvailable:    {8 << 20} kB\n")
    (tmp_path / "self/cgroup").write_text("0::/a/b\n")
    (group / "memory.max").write_text(f"{int(limit) << 30}\n" if limit != "max" else "max\n")
    (group / "memory.current").write_text(f"{used << 30}\n")
    (group / "memory.stat").write_text(f"anon 5\ninactive_file {cached << 30}\n")
    assert host.find_free_memory() == gib
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 3})
    assert options.read_options({}).jobs == 2


def test_program_ends_with_the_harness(tmp_path: Path) -> None:
    """Also when that is killed, and cannot end it itself."""
    script = (
        f"from harness.core import run; run(['sh', '-c', 'echo $$ >{tmp_path}/p; sleep 99'], '')"
    )
    words = [sys.executable, "-B", "-c", script]
    with subprocess.Popen(words, cwd=folders.ROOT) as child:
        for _ in range(100):
            if (tmp_path / "p").exists() and (tmp_path / "p").read_text():
                break
            time.sleep(0.1)
        child.send_signal(signal.SIGKILL)
    pid = Path("/proc", (tmp_path / "p").read_text().strip())
    for _ in range(50):
        if not pid.exists() or " Z " in (pid / "stat").read_text():
            break
        time.sleep(0.1)
    assert not pid.exists() or " Z " in (pid / "stat").read_text()
