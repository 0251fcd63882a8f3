# SPDX-License-Identifier: GPL-2.0
"""The program copy: every byte arrives, faults are told, a copy that is wrong is found."""

import shutil
import subprocess
from concurrent.futures import Future
from pathlib import Path

import pytest

from harness.kernel.toolchain import compile_like_mm_init
from harness.link.disassembly import find_undrained
from harness.link.program import COPY
from harness.link.race import run_races
from report.rows import format_samples
from support import Builder, choose, read_faults, replay, start_all

FAULTS = read_faults("copy")
# The others run in make test-all only.
SHORT = ("streams-where-no-node-is-named", "plain-fixup", "prefetches-past-the-source")
NAMES = ["memcpy", "copy_to_nontemporal", "__memcpy_flushcache", "memcpy_nt"]
# The bytes are right, and SFENCE is missing on a way that streams.
DISASSEMBLED = [name for name, fault in FAULTS.items() if fault["says"].startswith("MOVNTI")]
FOUND = [name for name in FAULTS if name not in DISASSEMBLED]
# What the kernels' code has alternatives for, and the program applies.
FEATURES = ("ERMS", "CLFLUSHOPT", "CLWB", "FSRM")
FAULT = "#include <asm/string.h>\n#undef arch_memcpy_nt\n#define arch_memcpy_nt(dst, src, n) "


def list_features() -> list[str]:
    """Return the features that this CPU has."""
    flags = Path("/proc/cpuinfo").read_text().partition("\nflags")[2].partition("\n")[0].split()
    return [name for name in FEATURES if name.lower() in flags]


def check_fault(builder: Builder, folder: Path, fault: str) -> "subprocess.CompletedProcess[str]":
    """Compare in a program whose series has another memcpy_nt()."""
    builder.program(COPY)
    before, after = builder.pair(COPY)
    header, made = folder / "fault.h", after.out / "copy-shim.o"
    header.write_text(f"{FAULT}{fault}\n")
    flags = [f"-I{where}" for where in (after.tree / "mm", COPY.folder)]
    shim = COPY.folder / "shim.c"
    try:
        compile_like_mm_init(after.out, shim, made, *flags, "-include", str(header))
        mutant = COPY.link_side(after, "series", folder)
    finally:
        compile_like_mm_init(after.out, shim, made, *flags)
    sides = [before.out / "copy-base.o", mutant]
    return replay(COPY.link_program(after, sides, folder / "copy"), "check", "2000")


@pytest.mark.parametrize("name", choose(COPY.configs, ("debian",)))
def test_every_byte(builder: Builder, name: str) -> None:
    made = builder.program(COPY, name)
    done = replay(made, "check")
    assert not done.returncode, done
    assert f"copies by each of {len(NAMES)}: every byte as it must be" in done.stdout
    done = replay(made, "folios")
    assert not done.returncode and "every byte as it must be" in done.stdout, done


def test_race(builder: Builder, tmp_path: Path) -> None:
    made = builder.program(COPY)
    for words, runners in (("race 8 1", NAMES), ("demote 1 1", ["base", "series"])):
        samples = run_races(made, [words], 1, tmp_path)
        assert {*samples["alternatives"].split(", ")} == {*list_features()}
        for result in samples["results"]:
            [one] = result["runs"]
            figures = [what for what in ("samples", "copy", "read") if what in one]
            for what in figures:
                assert [*one[what]] == runners
                assert all(min(times) > 0 for times in one[what].values())
        assert "the hypervisor took at most" in format_samples(samples)


def test_short_copy_is_found(builder: Builder, tmp_path: Path) -> None:
    done = check_fault(builder, tmp_path, "__memcpy(dst, src, (n) - !!(n))")
    assert done.returncode == 1 and "DIFFERS memcpy_nt: 1 bytes to" in done.stdout
    assert "DIFFERS memcpy_nt: 64 bytes, a constant, to" in done.stdout
    assert "DIFFERS copy" not in done.stdout


@pytest.mark.parametrize("feature", ["CLWB", "SMAP"])
def test_alternative_runs_where_it_may(builder: Builder, tmp_path: Path, feature: str) -> None:
    trap = f'alternative("", "ud2", X86_FEATURE_{feature})'
    done = check_fault(builder, tmp_path, f"({{ {trap}; __memcpy(dst, src, n); }})")
    if feature in list_features():
        assert done.returncode == 3 and "the code of memcpy_nt hit BUG()" in done.stderr
    else:
        assert not done.returncode, done


def test_copies_are_drained(builder: Builder) -> None:
    builder.program(COPY)
    assert not find_undrained(builder.pair(COPY)[1].out / "mm/migrate.o", "migrate_folio")


@pytest.mark.parametrize("name", DISASSEMBLED)
def test_fault_is_disassembled(builder: Builder, name: str) -> None:
    fault = FAULTS[name]
    assert find_undrained(builder.mutated(COPY, name, fault), "migrate_folio") == fault["says"]


@pytest.fixture(scope="module")
def mutants(builder: Builder, request: pytest.FixtureRequest) -> dict[str, "Future[Path]"]:
    return start_all(
        request, "test_fault_is_found", lambda name: builder.mutant(COPY, name, FAULTS[name])
    )


@pytest.mark.parametrize("name", choose(FOUND, SHORT))
def test_fault_is_found(mutants: dict[str, "Future[Path]"], name: str) -> None:
    fault, made = FAULTS[name], mutants[name].result()
    done = replay(made, "folios")
    told = done.stdout + done.stderr
    assert "base" not in told and fault["says"] in told
    assert bool(done.returncode) == bool(fault["says"])
    # What is not found stays, to be looked at.
    shutil.rmtree(made.parent)
