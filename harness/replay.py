# SPDX-License-Identifier: GPL-2.0
"""`make replay`: prove that both kernels build the same memmap, and race them at native speed."""

import datetime
import json
from pathlib import Path
from typing import Any

from harness import tree
from harness.options import Options, start
from harness.process import git, run, say, step
from harness.program import program
from harness.race_plot import plot

RANDOM_CASES = 20000
SEED = 1
ROUNDS = 15
# GiB of the device, and the orders to race; d is for a deduplicated memmap.
RACES = ((100, "0,9,18,9d,18d"), (16, "0-18"))


def compare(replay: Path) -> str:
    """Compare the memmaps of both kernels and return what was compared; Raises Fault at a difference."""
    step("comparing the memmaps byte for byte")
    text = run([replay, "matrix"], "comparing the memmaps", progress=print)
    step(f"comparing those of {RANDOM_CASES} random cases")
    return text + run([replay, "random", str(RANDOM_CASES), str(SEED)], "comparing the memmaps", progress=print)


def race(replay: Path, home: Path) -> tuple[str, dict[str, Any]]:
    """Race the kernels and return the tables and the raw samples."""
    text = ""
    samples: dict[str, Any] = {"results": []}
    for gib, orders in RACES:
        step(f"racing: {gib} GiB, orders {orders}")
        part = home / "race.tmp"
        text += "\n" + run([replay, "race", str(gib), orders, str(ROUNDS), part], "racing", progress=print)
        raced = json.loads(part.read_text())
        part.unlink()
        samples["results"] += raced.pop("results")
        samples |= raced
    return text, samples


def replay(options: Options) -> None:
    """Build, compare, race, and write table, samples and plot; Raises Fault as the stages do."""
    trees = tree.tree(options)
    made = program(options, trees)
    home = options.build / "replay" / "result"
    home.mkdir(parents=True, exist_ok=True)
    text = compare(made)
    table, samples = race(made, home)
    samples |= {"date": datetime.date.today().isoformat(), "base": git(trees.base, "rev-parse", "HEAD"), "series": git(trees.series, "rev-parse", "HEAD")}
    (home / "replay.txt").write_text(text + table)
    (home / "replay.json").write_text(json.dumps(samples, indent=1) + "\n")
    plot(samples, home / "replay.png")
    say(f"table, raw samples and plot: {home}; the program, which runs on any x86-64 Linux: {made}")


if __name__ == "__main__":
    start(replay)
