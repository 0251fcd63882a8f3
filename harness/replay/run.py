# SPDX-License-Identifier: GPL-2.0
"""Run a replay: build its program, compare the kernels, race them in processes, keep the result."""

import datetime
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.core import ROOT, Options, UserError, announce, git, run, say
from harness.core.cache import digest, replace, scratch
from harness.core.cpu import describe_cpu, read_cpu_times
from harness.kernel import tree
from harness.kernel.peer import prepare_peer
from harness.kernel.toolchain import need_tools
from harness.kernel.tree import Trees
from harness.replay.build import Objects, Program
from harness.replay.samples import Samples, describe_runs, find_stolen, merge_runs

Words = Sequence[str]
CACHE = Path("/sys/devices/system/cpu/cpu0/cache/index2/size")


@dataclass(frozen=True)
class Replay:
    """A program, the words that compare and that race, and how its samples are told."""

    name: str
    program: Program
    checks: Mapping[str, Words]
    races: Sequence[Words]
    format_table: Callable[[Samples], str]
    format_verdict: Callable[[Samples], str]
    draw: Callable[[Samples, Path], None] | None = None
    peer: bool = True

    def locate(self, options: Options) -> Path:
        kind = "" if self.name == "replay" else f"{self.name}-"
        kind += "" if options.config == Options.config else f"{options.config}-"
        return options.build / "replay" / f"{kind}result"


def run_races(program: Path, races: Sequence[Words], runs: int, folder: Path) -> Samples:
    """Race in so many processes, in turn; return the samples.

    A program gets one more word: the file to write its samples to. Under a hypervisor, the samples
    say which share of the CPU time went to other guests: a race that lost some is not worth much.
    """
    results: list[list[dict[str, object]]] = []
    samples: Samples = {}
    folder.mkdir(parents=True, exist_ok=True)
    with scratch(folder / "race.tmp") as made:
        for number in range(runs):
            results.append([])
            for words in races:
                announce(f"racing, process {number + 1} of {runs}: {' '.join(words)}")
                before = read_cpu_times()
                run([program, *words, made / "race.json"], "racing", progress=print)
                lost, passed = (
                    now - then for now, then in zip(read_cpu_times(), before, strict=True)
                )
                raced = json.loads((made / "race.json").read_text())
                facts = {"stolen": lost / max(passed, 1), "unit": raced["unit"]}
                results[-1] += [one | facts for one in raced.pop("results")]
                samples |= raced
    return samples | {"results": merge_runs(results)}


def read_cache(size: Path = CACHE) -> int:
    """Return the KiB of the second-level cache, 0 where the system does not tell it."""
    return int(size.read_text().strip().removesuffix("K")) if size.exists() else 0


def describe_run(trees: Trees, kernel: Objects) -> Samples:
    """Return on what machine, from which sources, by which compiler and in which configuration."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        commit = git(ROOT, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
    except UserError:
        commit = "unknown: no repository"
    return {
        "cpu": describe_cpu(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory / 2**30),
        "second_level_kib": read_cache(),
        "hypervisor": " hypervisor" in Path("/proc/cpuinfo").read_text(),
        "host_kernel": os.uname().release,
        "date": datetime.date.today().isoformat(),
        "base": git(trees.base, "rev-parse", "HEAD^{tree}"),
        "series": git(trees.series, "rev-parse", "HEAD^{tree}"),
        "compiler": kernel.config.tools.version(),
        "config": f"{kernel.options.config}, {digest((kernel.out / '.config').read_bytes())}",
        "commit": commit,
    }


def keep_result(replay: Replay, folder: Path, text: str, samples: Samples) -> None:
    """Write text, samples and picture, all or none of them."""
    with replace(folder) as new:
        new.mkdir()
        (new / f"{replay.name}.txt").write_text(text)
        (new / f"{replay.name}.json").write_text(json.dumps(samples, indent=1) + "\n")
        if replay.draw:
            replay.draw(samples, new / f"{replay.name}.png")


def run_replay(options: Options, replay: Replay) -> Samples:
    """Build, compare, race and keep the result; Raises UserError where the series differs."""
    if options.peer and not replay.peer:
        raise UserError(f"PEER= is not for this replay ({replay.name}): leave it out")
    # On an emulator, tests compare but nobody races.
    configs = {
        name: config
        for name, config in replay.program.configs.items()
        if not config.tools.architecture.runner
    }
    if options.config not in configs:
        raise UserError(f"CONFIG={options.config} must be one of {', '.join(configs)}")
    need_tools(configs[options.config].tools.missing())
    trees = tree.apply_series(options)
    peer = prepare_peer(options, trees.base.parent)
    made = replay.program.build(options, trees, peer=peer)
    kernel = replay.program.place(options, trees.series)
    samples = describe_run(trees, kernel)
    compared = ""
    for what, words in replay.checks.items():
        announce(what)
        compared += f"{what}: {run([made, *words], what, progress=print)}"
    folder = replay.locate(options)
    samples |= run_races(made, replay.races, options.runs, folder.parent)
    if peer:
        samples["peer"] = git(peer, "rev-parse", "HEAD^{tree}")
    table = f"{samples['cpu']}\n{samples['unit']}; {describe_runs(samples)}\n"
    table += f"configuration of the kernels: {options.config}\n"
    table += replay.format_table(samples)
    stolen = find_stolen(samples["results"])
    table += f"the hypervisor took at most {stolen:.0%} of the CPU time of a race\n"
    verdict = replay.format_verdict(samples)
    print(f"\n{table}")
    keep_result(replay, folder, f"{compared}\n{table}\n{verdict}\n", samples)
    say(f"table and raw samples: {folder}")
    say(f"the program, which runs on any x86-64 Linux: {made}")
    print(verdict)
    return samples
