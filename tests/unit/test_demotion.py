# SPDX-License-Identifier: GPL-2.0
"""What `make replay-demotion` tells of a cache that it does not know, and its picture."""

import json
from pathlib import Path

from harness.replay import demotion
from harness.replay.samples import RESULTS

SAMPLES = json.loads((RESULTS / "2026-11-24-zen-4/demotion.json").read_text())


def test_cache_that_the_system_does_not_tell(tmp_path: Path) -> None:
    (tmp_path / "size").write_text("1024K\n")
    assert demotion.read_cache(tmp_path / "size") == {"second_level_kib": 1024}
    unknown = demotion.read_cache(tmp_path / "none")
    told = demotion.format_table(SAMPLES | unknown)
    assert "unknown KiB" in told
    assert "larger" in told
    assert "fits" not in told


def test_picture(tmp_path: Path) -> None:
    demotion.draw_copies(SAMPLES, tmp_path / "demotion.png")
    assert (tmp_path / "demotion.png").read_bytes().startswith(b"\x89PNG")
