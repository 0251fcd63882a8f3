# SPDX-License-Identifier: GPL-2.0
"""`make replay`: prove that both kernels build the same memmap, and race them at native speed."""

from pathlib import Path

from harness.core.command import git, run
from harness.core.options import Options
from harness.core.progress import announce, say
from harness.core.stages import run_stage
from harness.kernel import tree
from harness.kernel.peer import prepare_peer
from harness.replay.build import build_replay
from harness.replay.compare import find_last, format_beside, load_runs
from harness.replay.drain import tell_peer
from harness.replay.plot import draw_race
from harness.replay.samples import keep_samples, run_races

RANDOM_CASES = 20000
SEED = 1
ROUNDS = 15
# GiB of the device, and the orders to race; d is for a deduplicated memmap.
RACES = ((100, "0,9,18,9d,18d"), (16, "0-18"))


def compare_memmaps(replay: Path) -> str:
    """Compare the memmaps of the kernels and return what was compared.

    Raises UserError at a difference, unless it is the peer's.
    """
    announce("comparing the memmaps byte for byte")
    text = run([replay, "matrix"], "comparing the memmaps", progress=print)
    announce(f"comparing those of {RANDOM_CASES} random cases")
    return text + run(
        [replay, "random", str(RANDOM_CASES), str(SEED)], "comparing the memmaps", progress=print
    )


def run_replay(options: Options) -> None:
    """Build, compare, race, and write table, samples and plot.

    Raises UserError as the stages do.
    """
    trees = tree.apply_series(options)
    peer = prepare_peer(options, trees.base.parent)
    made = build_replay(options, trees, peer=peer)
    folder = options.build / "replay" / "result"
    text = compare_memmaps(made)
    races = [["race", str(gib), orders, str(ROUNDS)] for gib, orders in RACES]
    table, samples = run_races(made, races, folder)
    if peer:
        samples["peer"] = git(peer, "rev-parse", "HEAD")
    keep_samples(folder, "replay", trees, text + table, samples)
    draw_race(samples, folder / "replay.png")
    if peer:
        tell_peer(options)
    if last := find_last(load_runs(), samples["cpu"]):
        print(f"\n{format_beside(last, samples)}")
    say(f"table, raw samples and plot: {folder}")
    say(f"the program, which runs on any x86-64 Linux: {made}")


if __name__ == "__main__":
    run_stage(run_replay)
