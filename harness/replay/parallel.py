# SPDX-License-Identifier: GPL-2.0
"""`make replay-parallel`: one namespace by several threads, compared with base and timed.

The program is that of `make replay`. It links the series' kernel/padata.o, so the kernel splits
the range. The works that padata queues run on threads of user space (replay/threads.c).
"""

from pathlib import Path
from typing import Any

from harness.core.command import run
from harness.core.options import Options
from harness.core.progress import announce, say
from harness.core.stages import run_stage
from harness.kernel import tree
from harness.replay.build import build_replay
from harness.replay.model import draw_model, format_model
from harness.replay.samples import find_ratio, keep_samples, run_races

# More than the machine has, so that threads also wait for each other.
THREADS = (2, 3, 8)
RANDOM_CASES = 3000
SEED = 1
# MiB of the device, orders (d: deduplicated), rounds. The last one makes the verdict.
RACES = (
    *((mib, "0,9", 51) for mib in (128, 256, 512, 1024, 2048, 4096)),
    (16384, "0,1,3,9,18,9d,18d", 15),
    (102400, "0,9,9d", 15),
)
Race = dict[str, list[float]]


def compare_memmaps(replay: Path) -> str:
    """Compare with base, by several numbers of threads; Raises UserError at a difference."""
    text = ""
    for threads in THREADS:
        announce(f"comparing the memmaps of {threads} threads byte for byte")
        for words in (["matrix"], ["random", str(RANDOM_CASES), str(SEED)]):
            text += f"{threads} threads: " + run(
                [replay, "threads", str(threads), *words], "comparing the memmaps", progress=print
            )
    return text


def format_speedups(samples: dict[str, Any]) -> str:
    """Return a line for each race: what all CPUs gain for the series, split, and for a fill."""
    cpus = samples["cpus"]
    rows = [f"{cpus} threads, x of 1:   MiB order  series   split    fill   of base"]
    for result in samples["results"]:
        race: Race = result["samples"]
        order = f"{result['order']}{'d' if result['deduplicated'] else ''}"
        one = "series 1"
        gains = [
            find_ratio(race, one, f"series {cpus}"),
            find_ratio(race, one, f"split {cpus}"),
            find_ratio(race, "fill 1", f"fill {cpus}"),
            find_ratio(race, "base 1", f"series {cpus}"),
        ]
        rows.append(f"{result['device_mib']:25} {order:>5}" + "".join(f"{x:7.2f}x" for x in gains))
    return "\n".join(rows) + "\n"


def format_verdict(samples: dict[str, Any]) -> str:
    """Return the last line: the largest device at order 0."""
    cpus = samples["cpus"]
    largest = max(result["device_mib"] for result in samples["results"])
    race: Race = next(
        result["samples"]
        for result in samples["results"]
        if result["device_mib"] == largest and result["order"] == 0
    )
    one, base = (find_ratio(race, name, f"series {cpus}") for name in ("series 1", "base 1"))
    return f"parallel: {cpus} threads {one:.2f}x of one, {base:.2f}x of base"


def run_parallel(options: Options) -> None:
    """Build, compare, race, and write tables and samples; Raises UserError as the stages do."""
    trees = tree.apply_series(options)
    made = build_replay(options, trees)
    folder = options.build / "replay" / "parallel-result"
    text = compare_memmaps(made)
    races = [["parallel", str(mib), orders, str(rounds)] for mib, orders, rounds in RACES]
    table, samples = run_races(made, races, folder)
    told = f"{format_speedups(samples)}{format_verdict(samples)}"
    (folder / "model.txt").write_text(format_model())
    draw_model(folder / "model.png")
    keep_samples(folder, "parallel", trees, f"{text}{table}\n{told}\n", samples)
    say(f"table and raw samples: {folder}")
    print(told)


if __name__ == "__main__":
    run_stage(run_parallel)
