# SPDX-License-Identifier: GPL-2.0
"""`make replay-boot`: compare and race how both kernels initialise boot memory."""

from pathlib import Path
from typing import Any

from harness.core.command import run
from harness.core.options import Options
from harness.core.progress import announce, say
from harness.core.stages import run_stage
from harness.kernel import tree
from harness.replay.boot_build import build_boot
from harness.replay.samples import find_ratio, keep_samples, run_races

RANDOM_CASES = 1000
SEED = 1
ROUNDS = 15
# GiB of the zone; the last one makes the verdict.
ZONES = (16, 100)


def compare_boots(boot: Path) -> str:
    """Compare what the kernels do and return what was compared.

    Raises UserError at a difference.
    """
    announce("comparing memmaps and free lists byte for byte")
    text = run([boot, "matrix"], "comparing the memmaps", progress=print)
    announce(f"comparing those of {RANDOM_CASES} random cases")
    words = ["random", "0", str(RANDOM_CASES), str(SEED)]
    return text + run([boot, *words], "comparing the memmaps", progress=print)


def format_verdict(samples: dict[str, Any]) -> str:
    """Return the last line: deferred initialisation of the largest zone."""
    race = [result for result in samples["results"] if result["what"] == "deferred"][-1]["samples"]
    faster, over = find_ratio(race, "base", "series"), find_ratio(race, "series", "limit")
    return f"boot: series is {faster:.2f}x as fast as base, {over:.2f}x the limit"


def run_boot(options: Options) -> None:
    """Build, compare, race, and write table and samples; Raises UserError as the stages do."""
    trees = tree.apply_series(options)
    made = build_boot(options, trees)
    folder = options.build / "replay" / "boot-result"
    text = compare_boots(made)
    races = [["race", str(gib), str(ROUNDS)] for gib in ZONES]
    table, samples = run_races(made, races, folder)
    verdict = format_verdict(samples)
    keep_samples(folder, "boot", trees, f"{text}{table}\n{verdict}\n", samples)
    say(f"table and raw samples: {folder}")
    say(f"the program, which runs on any x86-64 Linux: {made}")
    print(verdict)


if __name__ == "__main__":
    run_stage(run_boot)
