# SPDX-License-Identifier: GPL-2.0
"""What two boots tell of their memory, how that compares, and the consoles of make bench."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cells.boot_memory import compare_zones
from harness.bench import measure
from harness.core import errors, read_options
from harness.kernel.images import Kernel
from harness.kernel.tree import Trees

BOOT = """\
[    0.25] smp: Brought up 2 nodes, 1 CPU
[    0.29] Memory: 16390288K/16776436K available (5200K kernel code)
[    0.64] Freeing unused kernel image (text/rodata gap) memory: 944K
[    0.65] Freeing unused kernel image (rodata/data gap) memory: 648K
[    2.40] zdm: zone: 0, DMA32, 520160 present, 500293 managed, 500100 free
[    2.41] zdm: zone: 1, Normal, 2097152 present, 2063883 managed, 2057690 free
"""


@pytest.mark.parametrize(
    "base, edits, told",
    [
        # A page more of code leaves a page less after it.
        (BOOT, [("944K", "940K"), ("500293 managed", "500292 managed")], ""),
        (BOOT, [("2057690 free", "2057100 free")], "2557790 pages are free in base, 2557200 in"),
        (BOOT, [("2063883 managed", "2063882 managed")], "1, Normal: .* 2063882 managed"),
        (BOOT, [("16390288K", "16390284K")], "16390288 KiB free after boot"),
        ("", [], "base has "),
    ],
)
def test_other_memory(base: str, edits: list[tuple[str, str]], told: str) -> None:
    series = base
    for old, new in edits:
        assert old in series
        series = series.replace(old, new)
    found = compare_zones(base, series)
    assert re.search(told, found) if told else not found


def test_console_of_a_failed_boot_is_there(
    qemu: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = Kernel("base", "7.3", tmp_path / "bzImage")
    for name, found in {
        "check_qemu": "7.2",
        "apply_series": Trees(tmp_path, tmp_path),
        "build_pair": (kernel, kernel),
        "make_initramfs": tmp_path / "initramfs",
    }.items():
        monkeypatch.setattr(measure, name, lambda *_, found=found, **__: found)
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench/table.txt").write_text("of the last run\n")
    qemu("echo '[ 1.0] Linux'; echo '[ 1.1] Kernel panic - not syncing: x'; exec sleep 100")
    for _ in range(2):
        with pytest.raises(errors.UserError, match="Kernel panic") as caught:
            measure.run_bench(read_options({"BUILD": str(tmp_path), "SIZE": "2G", "ACCEL": "tcg"}))
        [log] = re.findall(r"whole console: (\S+)\)", str(caught.value))
        assert "Kernel panic" in Path(log).read_text()
        assert (tmp_path / "bench/table.txt").read_text() == "of the last run\n"
