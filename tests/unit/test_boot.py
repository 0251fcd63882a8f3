# SPDX-License-Identifier: GPL-2.0
"""What a boot tells of its memory, read from the console of a real boot, and how boots compare."""

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.bench import boot, measure, zones
from harness.bench.measure import Setup
from harness.core import errors
from harness.core.options import Options, read_options
from harness.kernel.images import Kernel
from harness.vm import console

LOG = (Path(__file__).parent / "fixtures/series-16G.log").read_text()
RELEASE = "7.3.0-rc7-series"
BOOT = zones.read_boot(LOG, RELEASE, 2)
SAMPLES = {
    "date": "2026-11-22",
    "accelerator": "tcg",
    "cpu": "Some CPU",
    "qemu": "7.2.22",
    "gib": 16,
    "boots": [{"release": "7.3.0-rc7-base"}],
}
Change = Callable[[zones.Boot], Any]


def run(kernel: str, change: Change = lambda _: None) -> boot.Run:
    changed = copy.deepcopy(BOOT)
    change(changed)
    return boot.Run(kernel, 2, 2, changed)


def edit(old: str, new: str) -> str:
    assert old in LOG
    return LOG.replace(old, new)


def test_real_console() -> None:
    assert BOOT.deferred == {0: 113, 1: 133}
    assert (BOOT.deferred_ms, BOOT.up_ms, BOOT.available) == (137.507, 2415.847, 4097572)
    assert BOOT.zones == [
        zones.Zone(0, "DMA", 3998, 3840, 3840),
        zones.Zone(0, "DMA32", 520160, 500293 - (944 + 648) // 4, 498713 + 76 + 1504),
        zones.Zone(0, "Normal", 1572864, 1540045, 1533636 + 1517 + 212),
        zones.Zone(1, "Normal", 2097152, 2063883, 2056302 + 127 + 1261),
    ]
    assert BOOT.managed == 4107663 and BOOT.free == 4097188
    assert BOOT.count_deferred() == 1540045 + 2063883 - 2 * 32768


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("node 1 deferred pages", "node 1 deferred", "1 lines tell of deferred init.* 2 nodes"),
        ("node 1 deferred pages", "node 0 deferred pages", "2 lines tell of deferred init"),
        ("Memory: ", "Memory ", "0 lines tell the free memory, not one"),
        ("zdm: stage: kernel", "zdm: kernel", "0 lines tell when init started"),
        ("zdm: Node 1,", "zdm: Knot 1,", "does not tell of the zones of 2 nodes"),
        # test_console.py has the other faults of any console.
        ("zdm: done", "", "did not reach its end"),
    ],
)
def test_incomplete_console(old: str, new: str, message: str) -> None:
    with pytest.raises(console.BadConsole, match=message):
        zones.read_boot(edit(old, new), RELEASE, 2)


def free_more(pages: int) -> Change:
    return lambda changed: setattr(changed.zones[2], "free", changed.zones[2].free + pages)


def test_same_memory() -> None:
    runs = [run("base"), run("series", free_more(40)), run("base", free_more(-41))]
    boot.check_zones(runs)
    assert boot.format_verdict(runs) == (
        "bench-boot: base and series have the same 4107663 pages managed in each of 1 guests; "
        "free pages differ by 81 at most"
    )
    # With two CPUs, it depends on the timing how many pages are on their lists.
    boot.check_zones([run("base"), run("series", lambda changed: setattr(changed, "available", 1))])
    # A page more of code leaves a page less after it.
    longer = edit("gap) memory: 944K", "gap) memory: 940K").replace(
        "managed  500293", "managed  500292"
    )
    boot.check_zones([run("base"), boot.Run("series", 2, 2, zones.read_boot(longer, RELEASE, 2))])
    # Another guest may have other memory.
    boot.check_zones([*runs, boot.Run("base", 1, 1, zones.Boot({}, 0, 0, 0, []))])


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda changed: setattr(changed.zones[3], "managed", 2063882),
         "CPUs: 2, nodes: 2: base has node 1, Normal: 2097152 pages present, 2063883 managed; "
         "series has node 1, Normal: 2097152 pages present, 2063882 managed"),
        (lambda changed: setattr(changed.zones[1], "present", 1),
         "base has node 0, DMA32: 520160 pages .*; series has node 0, DMA32: 1 pages present"),
        (lambda changed: changed.zones.pop(), "node 1, Normal: .*; series has no such zone"),
        (lambda changed: changed.zones.pop(0), "node 0, DMA: .*; series has node 0, DMA32:"),
        (free_more(-512), "the numbers of free pages differ by 512, so a block may be lost: "
                          "base 4097188, base 4097188, series 4096676"),
    ],
)  # fmt: skip
def test_other_memory(change: Change, message: str) -> None:
    with pytest.raises(errors.UserError, match=message):
        boot.check_zones([run("base"), run("base"), run("series", change)])


def test_free_with_one_cpu() -> None:
    runs = [boot.Run("base", 1, 2, BOOT), boot.Run("series", 1, 2, copy.deepcopy(BOOT))]
    boot.check_zones(runs)
    runs[1].boot.available -= 1
    with pytest.raises(errors.UserError, match="4097572 pages are free in base, but 4097571 in s"):
        boot.check_zones(runs)


def test_table() -> None:
    def slow(changed: zones.Boot) -> None:
        changed.deferred_ms = 537.507
        changed.available += 178

    runs = [run("base", slow), run("series"), run("base"), run("series", free_more(7))]
    text = boot.format_table(SAMPLES, runs)
    assert text.startswith("Boot with 16 GiB of RAM, time in ms\n16 GiB, kernel 7.3.0-rc7, TCG")
    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert "2 2 base 2 338 2416 4107663 4097572-4097750 4097188" in rows
    assert "2 2 series 2 138 2416 4107663 4097572 4097188-4097195" in rows
    assert "TCG emulates" in text and "per struct page" not in text
    text = boot.format_table(SAMPLES | {"accelerator": "icount"}, runs)
    assert text.startswith("Boot with 16 GiB of RAM, million instructions\n")
    # 137.507 million instructions for 3538392 struct pages
    assert "2 2 series 2 138 38.9 2416 " in " ".join(text.split())
    assert "per struct page" in text and "count the instructions" in text


@pytest.mark.parametrize(
    ("stage", "name"), [(measure.run_bench, "bench"), (boot.run_boots, "bench-boot")]
)
def test_console_of_a_failed_boot_is_there(
    stage: Callable[[Options], object],
    name: str,
    qemu: Callable[[str], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = Kernel("base", "7.3", tmp_path / "bzImage")
    setup = Setup((kernel, kernel), tmp_path / "initramfs", "tcg", "7.2", boots=1)
    for module in (measure, boot):
        monkeypatch.setattr(module, "make_setup", lambda _: setup)
    (tmp_path / name).mkdir()
    (tmp_path / name / "table.txt").write_text("of the last run\n")
    qemu("echo '[ 1.0] Linux'; echo '[ 1.1] Kernel panic - not syncing: x'; exec sleep 100")
    for _ in range(2):
        with pytest.raises(errors.UserError, match="Kernel panic") as caught:
            stage(read_options({"BUILD": str(tmp_path), "SIZE": "2G"}))
        [log] = re.findall(r"whole console: (\S+)\)", str(caught.value))
        assert "Kernel panic" in Path(log).read_text()
        assert (tmp_path / name / "table.txt").read_text() == "of the last run\n"


def test_consoles_of_a_run_that_succeeds(tmp_path: Path) -> None:
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench/old.log").touch()
    with measure.keep_consoles(tmp_path / "bench") as logs:
        (logs / "new.log").touch()
    assert [*tmp_path.rglob("*")] == [tmp_path / "bench", tmp_path / "bench/new.log"]
