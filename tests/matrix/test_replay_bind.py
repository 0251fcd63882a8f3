# SPDX-License-Identifier: GPL-2.0
"""The bind replay: page tables, references and memmaps are the base's, and each fault is found."""

import re
import subprocess
from pathlib import Path

import pytest

from harness.replay.bind import PARTS, PROGRAM
from support import Builder, choose, race, read_mutations, replay

MUTATIONS, FOUND, _ = read_mutations("bind/mutations")
# The others run in make test-all only.
SHORT = (
    *("entry-too-few", "reference-too-many", "freed-before-cleared", "no-flush"),
    *("page-not-verified", "block-kept-after-failure"),
)


def test_same_bind(builder: Builder) -> None:
    done = replay(builder.replay(PROGRAM), "check")
    assert not done.returncode, done.stdout + done.stderr
    assert re.fullmatch(
        r"99 cases, \d+ entries in range, .* series as base, byte for byte\n", done.stdout
    )


def test_returns(builder: Builder) -> None:
    """Each return of the objects can be written over: else a row would mix plain and safe ones."""
    for kernel in builder.pair(PROGRAM):
        for part in PROGRAM.parts:
            told = subprocess.run(
                ["objdump", "-dr", kernel.out / f"{part}.o"], capture_output=True, check=True
            ).stdout.decode()
            assert "__x86_return_thunk" in told
            assert not re.search(r"\tret\b", told), part


@pytest.mark.parametrize("name", choose(FOUND, SHORT))
def test_mutation_is_found(builder: Builder, name: str) -> None:
    mutation = MUTATIONS[name]
    done = replay(builder.mutant(PROGRAM, name, mutation), "check")
    # A fault can make the kernel's code crash: that is 3.
    assert done.returncode in (1, 3), done.stdout + done.stderr
    assert mutation["says"] in done.stdout + done.stderr
    assert "series" in done.stdout + done.stderr and " base: " not in done.stdout


def test_what_a_bind_does(builder: Builder, tmp_path: Path) -> None:
    samples = race(builder.replay(PROGRAM), tmp_path, "race", "1024")
    results = samples["results"]
    assert [result["order"] for result in results if not result["safe_ret"]] == [
        *(0, 9, 18, 0, 9),
        *(0, 9, 18),
    ]
    for result in results:
        # The lock of each entry is gone, and of two flushes per section one.
        assert result["series"]["flushes"] == 8 <= result["base"]["flushes"]
        assert result["series"]["locks"] <= result["base"]["locks"]
        assert result["series"]["allocated"] == result["base"]["allocated"]
        parts = zip(*(result[part]["series"] for part in PARTS), strict=True)
        assert result["samples"]["series"] == pytest.approx([sum(one) for one in parts], abs=1e-3)
