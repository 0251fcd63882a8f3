# SPDX-License-Identifier: GPL-2.0
"""Several threads leave the memmap of one, and each mutation of them is found."""

import re

import pytest

from harness.core.architectures import X86_64
from harness.replay import build
from harness.replay.device import PROGRAM
from harness.replay.drain import CHUNK, find_undrained
from support import Builder, choose, compare, read_mutations, replay

MUTATIONS, *_ = read_mutations("device/parallel")
# The threads of replay/threads.c are for x86-64 only.
CONFIGS = [name for name, one in build.CONFIGS.items() if one.tools.architecture is X86_64]
# The others run in make test-all only.
SHORT = ("unaligned-chunks", "not-waited", "drained-by-the-caller-alone")


@pytest.mark.parametrize("name", choose(CONFIGS, ["debian"]))
def test_same_memmap(builder: Builder, name: str) -> None:
    for words in (
        "threads 2 random 1000",
        "threads 3 random 1000 3",
        "threads 8 random 1000 2",
        "idle 4 random 500",
        "beside random 1000",
        "beside few 8 random 1000",
    ):
        compare(builder.replay(PROGRAM, name), *words.split())


@pytest.mark.parametrize("name", choose(MUTATIONS, SHORT))
def test_mutation_is_found(builder: Builder, name: str) -> None:
    mutation = MUTATIONS[name]
    if "seen_by" in mutation:
        changed = builder.mutated(PROGRAM, name, mutation)
        assert find_undrained(changed, CHUNK) == mutation["says"]
        return
    made = builder.mutant(PROGRAM, name, mutation)
    # With many more threads than CPUs, some are late.
    first = mutation.get("words", "threads 16").split()
    for words in [first] + [["beside"]] * mutation.get("beside", False):
        # Whether threads meet in a fault is up to chance.
        for seed in range(1, 9):
            done = replay(made, *words, "random", "3000", str(seed))
            if done.returncode:
                break
        assert done.returncode and re.search(mutation["says"], done.stdout + done.stderr)
    # One thread runs one chunk, in which the fault does not show.
    assert not replay(made, "random", "300").returncode
