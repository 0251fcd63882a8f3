# SPDX-License-Identifier: GPL-2.0
"""What the console of a native boot tells, its table, and the monitor's command line."""

import subprocess
from pathlib import Path

import pytest

from harness.bench import whole
from harness.core import errors, read_options
from harness.kernel.images import Kernel
from harness.vm import console, guest
from harness.vm.devices import PAIR

KERNEL = Kernel("series", "7.3", Path("kernels/series/image"))
TEXT = """\
[    0.000000] Linux version 7.3 (x) #1
[    5.000000] zdm: ticks: 5000
[    5.100000] zdm: fill: 25500 us
[    6.000000] zdm: # nd_pmem namespace0.0: rebind 1/1: memmap 240 ms, bind 262.125 ms, 8 pages
[    7.000000] zdm: begin: enable-namespace
[    7.250000] zdm: end
[    8.000000] zdm: begin: enable-namespace
[    8.500000] zdm: end
[    8.600000] zdm: part: bind memmap_init_zone_device 1 73.5
[    9.000000] zdm: ticks: 9000
[    9.100000] zdm: done
monitor: 10.000 s, on a CPU 4.000 s, waiting for one 0.500 s; 1000 exits
"""


def test_values() -> None:
    assert whole.read_values(TEXT, "7.3") == {
        "fill": [25.5],
        "memmap": [240],
        "whole bind": [262.125],
        "enable-namespace": [250, 500],
        "bind memmap_init_zone_device": [73.5],
        "bind memmap_init_zone_device()": [1],
        "ticks": [1000],
        "wall": [10000],
        "cpu": [4000],
        "waited": [500],
    }
    with pytest.raises(console.BadConsole, match="did not reach its end"):
        whole.read_values(TEXT.replace("zdm: done", ""), "7.3")


def test_case_that_fails_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    bad, *good = whole.list_cases(1)

    def boot(_: object, kernel: Kernel, image: Path, case: whole.Case, log: Path) -> object:
        if case is bad and "2-series" in log.name:
            raise errors.UserError("it is lost")
        return {}

    monkeypatch.setattr(whole, "boot_case", boot)
    monkeypatch.setattr(whole, "list_cases", lambda _: [bad, *good])
    options = read_options({"REBINDS": "1"})
    entries, failed = whole.boot_cases(options, (KERNEL, KERNEL), Path("image"), 3, Path("logs"))
    assert failed == [bad.name]
    boots = [entry["case"] for entry in entries]
    assert boots == [case.name for case in good for _ in range(6 if case.shown else 2)]


def test_table_of_cases() -> None:
    values = whole.read_values(TEXT, "7.3") | {"stolen": [0.0], "host fill": [24.0]}
    entries = [
        {
            "case": "a case",
            "kernel": kernel,
            "shown": ["memmap"],
            "values": values | {"memmap": [time, time]},
        }
        for kernel, times in (("base", (300, 310, 400)), ("series", (150, 155, 160)))
        for time in times
    ]
    rows = [" ".join(line.split()) for line in whole.format_whole(entries).splitlines()]
    assert "a case memmap 3 310.0 (300.0-400.0) 155.0 (150.0-160.0) 2.00x" in rows
    assert any("ran 40% and waited" in row for row in rows)
    assert "in the guest and 24.0 on the host; the timer ticks 1000 times a second." in rows


def test_command_of_the_monitor() -> None:
    one = guest.Guest(
        KERNEL, Path("build/i"), "native", 100, "a b", devices=PAIR, files=(Path("f"),)
    )
    command = [*map(str, one.command())]
    assert command[:5] == [
        "build/monitor",
        "kernels/series/vmlinux",
        "build/i",
        "6144",
        "100:f,100",
    ]
    assert command[-1] == "a b"
    with pytest.raises(errors.UserError, match="one CPU, one node"):
        guest.Guest(KERNEL, Path("i"), "native", nodes=2).command()


def test_monitor_refuses(tmp_path: Path) -> None:
    guest.compile_monitor(tmp_path)
    done = subprocess.run([tmp_path / "monitor"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("monitor: usage: monitor VMLINUX INITRAMFS")
