# SPDX-License-Identifier: GPL-2.0
"""The bind replay: page tables, references and memmaps are the base's, and each fault is found."""

from pathlib import Path

import pytest
from support import Lab, choose, race, read_mutations, replay

from harness.replay.bind import BIND, PROGRAM

MUTATIONS, FOUND, _ = read_mutations("bind/mutations")
# The others run in make test-all only.
SHORT = ("entry-too-few", "reference-too-many", "freed-before-cleared", "no-flush")


def test_same_bind(lab: Lab) -> None:
    done = replay(lab.replay(PROGRAM), "check")
    assert not done.returncode, done.stdout + done.stderr
    assert done.stdout == "26 cases: series as base\n"


@pytest.mark.parametrize("name", choose(FOUND, SHORT))
def test_mutation_is_found(lab: Lab, name: str) -> None:
    mutation = MUTATIONS[name]
    done = replay(lab.mutant(PROGRAM, name, mutation), "check")
    # A fault can make the kernel's code crash: that is 3.
    assert done.returncode in (1, 3), done.stdout + done.stderr
    assert mutation["says"] in done.stdout + done.stderr
    assert "series" in done.stdout + done.stderr and " base: " not in done.stdout


def test_race(lab: Lab, tmp_path: Path) -> None:
    samples = race(lab.replay(PROGRAM), tmp_path, "race", "1")
    assert [result["order"] for result in samples["results"]] == [0, 9, 18, 0, 9, 18, 0]
    for result in samples["results"]:
        assert list(result["samples"]) == ["base", "series", "limit"]
        # The lock of each entry is gone, and of two flushes per section one.
        assert result["series"]["flushes"] == 8 <= result["base"]["flushes"]
        assert result["series"]["locks"] <= result["base"]["locks"]
    assert BIND.format_verdict(samples).startswith("bind: series is ")
    assert BIND.format_table(samples)
