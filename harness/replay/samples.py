# SPDX-License-Identifier: GPL-2.0
"""What the replay programs measured: run the races, and keep their tables and raw samples."""

import datetime
import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.core.command import git, run
from harness.core.cpu import describe_cpu
from harness.core.progress import announce
from harness.kernel.tree import Trees


def run_races(
    program: Path, races: Sequence[Sequence[str]], folder: Path
) -> tuple[str, dict[str, Any]]:
    """Run the program with the words of each race; return the tables and the raw samples.

    The program gets one more word: the file in folder to write the samples to. Under a hypervisor,
    the tables and samples say which share of the CPU time went to other guests: a race that lost
    some of it is not worth much.
    """
    text = ""
    samples: dict[str, Any] = {"results": []}
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / "race.tmp"
    for words in races:
        announce(f"racing: {' '.join(words)}")
        before = read_cpu_times()
        text += "\n" + run([program, *words, part], "racing", progress=print)
        lost, passed = (now - then for now, then in zip(read_cpu_times(), before, strict=True))
        told = f"the hypervisor took {lost / passed:.0%} of the CPU time\n"
        print(told, end="")
        text += told
        raced = json.loads(part.read_text())
        part.unlink()
        samples["results"] += [race | {"stolen": lost / passed} for race in raced.pop("results")]
        samples |= raced
    return text, samples


def read_cpu_times() -> tuple[int, int]:
    """Return the time that the hypervisor took from this guest, and all CPU time: proc_stat(5)."""
    times = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return times[-1], sum(times)


def keep_samples(folder: Path, name: str, trees: Trees, text: str, samples: dict[str, Any]) -> None:
    """Write NAME.txt and NAME.json, and add to samples where and from what they were taken."""
    samples |= {
        "cpu": describe_cpu(),
        "date": datetime.date.today().isoformat(),
        "base": git(trees.base, "rev-parse", "HEAD"),
        "series": git(trees.series, "rev-parse", "HEAD"),
    }
    (folder / f"{name}.txt").write_text(text)
    (folder / f"{name}.json").write_text(json.dumps(samples, indent=1) + "\n")


def find_ratio(race: dict[str, list[float]], over: str, under: str) -> float:
    """Return the median of each round's ratio."""
    return statistics.median(a / b for a, b in zip(race[over], race[under], strict=True))
