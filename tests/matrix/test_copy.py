# SPDX-License-Identifier: GPL-2.0
"""The program copy: every byte arrives, faults are told, a copy that is wrong is found."""

import shutil
from concurrent.futures import Future
from pathlib import Path

import pytest

from harness.cells import machine_check
from harness.link.disassembly import find_undrained
from harness.link.program import COPY
from harness.link.race import RACES, run_races
from report.rows import format_samples
from support import Builder, choose, fail_if, read_faults, replay

PROGRAM, FAULTS = COPY, read_faults("copy")
# The others run in make test-all only.
SHORT = (
    *("streams-where-no-node-is-named", "found-after-a-failure", "plain-fixup"),
    *("prefetches-past-the-source", "traps-with-erms", "traps-with-smap"),
)
# The bytes are right, and SFENCE is missing on a way that streams.
DISASSEMBLED = [name for name, fault in FAULTS.items() if fault["says"].startswith("MOVNTI")]
FOUND = [name for name in FAULTS if name not in DISASSEMBLED]


@pytest.mark.parametrize("name", choose(COPY.configs, ("debian",)))
def test_every_byte(builder: Builder, name: str) -> None:
    # As make copy compares
    [words] = [words for race in RACES if race.program is COPY for words in race.checks]
    done = replay(builder.program(COPY, name), words)
    assert not done.returncode and "every byte as it must be" in done.stdout, done


@pytest.mark.usefixtures("one_cpu")
def test_race(builder: Builder, tmp_path: Path) -> None:
    program, flags = builder.program(COPY), Path("/proc/cpuinfo").read_text().split()
    # What the kernels' code has alternatives for, and the program applies
    features = {name for name in ("ERMS", "FSRM") if name.lower() in flags}
    for words, runners in (
        ("race 8 1", ["memcpy", "memcpy_nt"]),
        ("demote 1 1", ["base", "series"]),
    ):
        samples = run_races(program, [words], 1, tmp_path)
        assert {*samples["alternatives"].split(", ")} == features
        for result in samples["results"]:
            [process] = result["runs"]
            figures = [figure for figure in ("samples", "copy", "read") if figure in process]
            for figure in figures:
                assert [*process[figure]] == runners
                assert all(min(times) > 0 for times in process[figure].values())
        assert "the hypervisor took at most" in format_samples(samples)


def test_copies_are_drained(builder: Builder) -> None:
    builder.program(COPY)
    assert not find_undrained(builder.pair(COPY)[1].out / "mm/migrate.o", "migrate_folio")


@pytest.mark.parametrize("name", DISASSEMBLED)
def test_fault_is_disassembled(builder: Builder, name: str) -> None:
    fault = FAULTS[name]
    assert find_undrained(builder.mutated(COPY, name, fault), "migrate_folio") == fault["says"]


@pytest.mark.parametrize("name", choose(FOUND, SHORT))
def test_fault_is_found(mutants: dict[str, "Future[Path]"], name: str) -> None:
    fault, mutant = FAULTS[name], mutants[name].result()
    done = replay(mutant, "folios")
    output = done.stdout + done.stderr
    assert "base" not in output and fault["says"] in output
    assert bool(done.returncode) == bool(fault["says"])
    # What is not found stays, to be looked at.
    shutil.rmtree(mutant.parent)


@pytest.mark.full
def test_machine_check(builder: Builder) -> None:
    """A copy that takes a machine check at a load is given up, and the kernel goes on."""
    kernel = builder.kernel("series", machine_check.BOOT.config)
    fail_if(machine_check.boot(builder.options, builder.trees.series, kernel))
