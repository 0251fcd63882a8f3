# SPDX-License-Identifier: GPL-2.0
"""The demotion replay: every byte arrives, faults are told, each mutation is found."""

import os

import pytest

from harness.replay import demotion
from harness.replay.demotion import PROGRAM
from support import Builder, choose, read_mutations, replay

MUTATIONS, *_ = read_mutations("demotion/mutations")
# The others run in make test-all only.
SHORT = ("not-drained", "streams-to-every-node", "counts-a-line-too-few", "no-fixup")


@pytest.mark.parametrize("name", choose(demotion.CONFIGS, ["debian"]))
def test_every_byte(builder: Builder, name: str) -> None:
    done = replay(builder.replay(PROGRAM, name), "check")
    assert not done.returncode and "every byte as it must be" in done.stdout, done


def need_two_cpus() -> None:
    """Skip the test on one CPU, which cannot show the order of its stores."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU")


def test_copies_are_drained(builder: Builder) -> None:
    need_two_cpus()
    done = replay(builder.replay(PROGRAM), "publish")
    assert not done.returncode, done.stdout + done.stderr
    assert done.stdout.count(": 0 of 2000 copies had") == done.stdout.count("\n") >= 2


@pytest.mark.parametrize("name", choose(MUTATIONS, SHORT))
def test_mutation_is_found(builder: Builder, name: str) -> None:
    mutation = MUTATIONS[name]
    made = builder.mutant(PROGRAM, name, mutation)
    if mutation.get("seen_by") == "publish":
        need_two_cpus()
        assert not replay(made, "check").returncode
        # Whether the other thread looks early enough is up to chance.
        for _ in range(8):
            done = replay(made, "publish")
            assert "base: 0 of" in done.stdout
            if done.returncode:
                break
    else:
        done = replay(made, "check")
        assert "base" not in done.stdout + done.stderr
    assert done.returncode and mutation["says"] in done.stdout + done.stderr
