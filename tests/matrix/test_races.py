# SPDX-License-Identifier: GPL-2.0
"""A short race of each replay: each runner takes time, and table and last line can be made."""

from pathlib import Path

import pytest

from harness.replay.record import REPLAYS
from harness.replay.run import Replay, run_races
from support import Builder

KERNELS = ["base", "series", "fallback", "limit"]
# Of each replay: the commands that race, and the runners that every row must have.
SHORT = {
    "replay": (["race 1 0,9,9d 3", "touch 0,9d 3"], ["base", "series", "fallback"]),
    "boot": (["race reserved 1 3", "threads 1 3"], KERNELS),
    "online": (["race online 1 3"], KERNELS),
    "parallel": (["parallel 1024 0,9d 3", "devices 20 1024 9d 3"], ["base 1", "series 1"]),
    "demotion": (["race 1 1"], ["base", "series"]),
    "copy": (["race 8 1"], ["memcpy", "copy_to_nontemporal", "__memcpy_flushcache", "memcpy_nt"]),
    "bind": (["race 1024 3"], ["base", "series", "limit"]),
}


@pytest.mark.parametrize("replay", REPLAYS, ids=lambda replay: replay.name)
def test_race(builder: Builder, tmp_path: Path, replay: Replay) -> None:
    words, runners = SHORT[replay.name]
    made = builder.replay(replay.program)
    samples = run_races(made, [one.split() for one in words], 1, tmp_path)
    for result in samples["results"]:
        [run] = result["runs"]
        timed = {"samples", "touched", "copy", "read"} & run.keys()
        assert timed
        for what in timed:
            assert {*runners} <= {*run[what]}
            assert all(min(times) > 0 for times in run[what].values())
    samples["second_level_kib"] = 1024
    assert replay.format_table(samples)
    assert replay.format_verdict(samples).startswith(f"{replay.name}: ")
