# SPDX-License-Identifier: GPL-2.0
"""The replay: the same memmap in every configuration, and each mutation is found."""

import shutil
import subprocess
from pathlib import Path

import pytest

from harness.core import UserError, run
from harness.replay import boot, build
from harness.replay.device import PROGRAM
from harness.replay.drain import CHUNK, find_undrained
from support import Builder, choose, compare, race, read_mutations, replay

MUTATIONS, FOUND, DISASSEMBLED = read_mutations("device/mutations")
# What each configuration is there for: bytes of struct page, and what compound_info holds.
LAYOUT = {"pointer": (64, "pointer"), "page80": (80, "pointer"), "arm64": (64, "pointer")}
# The other configurations and mutations run in make test-all only.
SHORT = ("debian", "pointer")
QUICK = ("skipped-tail", "wrong-template", "stale-compound-info", "section-past-the-end")


@pytest.mark.parametrize("name", choose(build.CONFIGS, SHORT))
def test_same_memmap(builder: Builder, name: str) -> None:
    made = builder.replay(PROGRAM, name)
    size, holds = LAYOUT.get(name, (64, "mask"))
    config = build.CONFIGS[name]
    told = replay(made, "info", config=config).stdout
    assert f"struct page of {size} bytes, compound_info is a {holds}" in told
    assert ("page_ref_set" in told) == (name == "trace")
    # Emulated, cases take longer.
    cases = "3000" if config.tools.architecture.runner else "10000"
    compare(made, "random", "20000" if name == "debian" else cases, config=config)


@pytest.mark.parametrize(
    "name", choose(["debian", "default", "pointer", "nomemcg", "debug", "trace", "clang"], SHORT)
)
def test_copies_are_drained(builder: Builder, name: str) -> None:
    """In each configuration that streams: with KMSAN, and on arm64, memcpy_nt() is memcpy()."""
    assert not find_undrained(builder.pair(PROGRAM, name)[1].out / "mm/mm_init.o", CHUNK)


@pytest.mark.parametrize("name", DISASSEMBLED)
def test_mutation_is_disassembled(builder: Builder, name: str) -> None:
    changed = builder.mutated(PROGRAM, name, MUTATIONS[name])
    assert find_undrained(changed, CHUNK) == MUTATIONS[name]["says"]


@pytest.mark.parametrize("name", choose(FOUND, QUICK))
def test_mutation_is_found(builder: Builder, name: str) -> None:
    mutation = MUTATIONS[name]
    made = builder.mutant(PROGRAM, name, mutation)
    done = replay(made, "random", "3000")
    assert done.returncode == 1, done.stdout + done.stderr
    where, what = done.stdout.splitlines()[:2]
    assert (
        where.startswith("DIFFERS random 1 1 ")
        and what.startswith("  series: ")
        and mutation["says"] in what
    )
    # The report names the command that shows it again.
    again = replay(made, *where.removeprefix("DIFFERS ").partition(": ")[0].split())
    assert not mutation.get("one_call", True) or (
        again.returncode == 1 and again.stdout.splitlines()[:2] == [where, what]
    )


def test_mutation_that_fits_nowhere(builder: Builder) -> None:
    with pytest.raises(UserError, match="mutation gone: 0 times in mm/mm_init.c"):
        builder.mutant(PROGRAM, "gone", {"edits": [["no such text", ""]]})


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("dump_stack();", "used an unexpected symbol, dump_stack; provide it in shim.c"),
        (
            "*(volatile long *)(vmemmap + start_pfn + (1UL << 32)) = 0;",
            "touched memory outside of the memmap at 0x",
        ),
        ("BUG();", "hit BUG() or an illegal instruction at 0x"),
    ],
)
def test_fault_in_the_kernel(builder: Builder, statement: str, message: str) -> None:
    entry = "	if (WARN_ON_ONCE(!pgmap || zone_idx != ZONE_DEVICE))\n"
    fault = {"edits": [[entry, f"	{statement}\n{entry}"]]}
    done = replay(builder.mutant(PROGRAM, "fault", fault), "random", "1")
    assert done.returncode == 3 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("replay: random 1 1 0: type=") and message in done.stderr


@pytest.mark.parametrize(
    ("program", "words", "message"),
    [
        (PROGRAM, "random many", '"many" is no number'),
        (PROGRAM, "race 1 0,19", "0,9,9d: at most 32, each up to 18"),
        (PROGRAM, "race 1 0 1 /no/such/folder/x", "cannot write /no/such/folder/x"),
        (boot.PROGRAM, "", "usage: boot random"),
    ],
)
def test_bad_words(builder: Builder, program: build.Program, words: str, message: str) -> None:
    done = replay(builder.replay(program), *words.split())
    assert done.returncode == 2 and message in done.stderr


def test_stands_alone(builder: Builder, tmp_path: Path) -> None:
    made = Path(shutil.copy(builder.replay(PROGRAM), tmp_path))
    assert "INTERP" not in run(["readelf", "-l", made], "readelf")
    done = subprocess.run(
        [made, "random", "1"], cwd=tmp_path, env={}, capture_output=True, text=True
    )
    assert not done.returncode and done.stdout.startswith("1 case, ")


def test_random_cases_follow_the_seed(builder: Builder) -> None:
    first, again, other = (
        replay(builder.replay(PROGRAM), "random", "200", seed).stdout for seed in ("7", "7", "8")
    )
    assert first == again != other


def test_pages_that_a_race_writes(builder: Builder, tmp_path: Path) -> None:
    samples = race(builder.replay(PROGRAM), tmp_path, "race", "1", "0,9,9d")
    # Deduplicated, 128 of the 512 struct pages of a compound page are written.
    assert [result["pages"] for result in samples["results"]] == [1 << 18, 1 << 18, 1 << 16]
