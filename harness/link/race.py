# SPDX-License-Identifier: GPL-2.0
"""`make memmap`, `make copy`: build a program, compare the kernels, race them in processes.

What varies most is less the round than the process and the host. So a race is several processes
in turn, each with its rounds.
"""

import functools
import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.core import Options, UserError, announce, run, run_stage, say
from harness.core.cache import replace, scratch
from harness.core.cpu import name_cpu
from harness.kernel import tree
from harness.kernel.peer import prepare_peer
from harness.link.disassembly import note_peer_drain
from harness.link.program import COPY, MEMMAP, Program
from report.rows import format_samples
from report.samples import Result, Samples, merge_runs

PLAIN = "returns=plain"
# Each process begins at another place of the stack, also where it has one round.
PLACE = "place={process}"
# A log has each line when it is told, too.
show = functools.partial(print, flush=True)


@dataclass(frozen=True)
class Race:
    """A program, the words that compare and that race; name is that of its samples.

    {process} in words that race is the number of the process.
    """

    name: str
    program: Program
    checks: Sequence[str]
    races: Sequence[str]
    peer: bool = False

    def locate(self, options: Options) -> Path:
        kind = "" if options.config == Options.config else f"-{options.config}"
        return options.build / "result" / f"{self.name}{kind}"


def list_rows(gib: int) -> str:
    """Return the rows of a size: what people wait for."""
    rows = [f"bind:{gib}", f"bind:{gib}:o9:ram", f"deferred:{gib}"]
    rows += (f"reserved:{gib}{owner}" for owner in ("", ":cma", ":kho"))
    online, offline = [128, 256, 2048], [128, 256, 2048]
    if gib >= 1024:
        # The base takes minutes for each of the others.
        online, offline = [128, 2048], [2048]
    rows += (f"online:{gib}:b{block}" for block in online)
    rows += (f"offline:{gib}:b{block}" for block in offline)
    rows += (f"{what}:{gib}:b{block}" for what in ("plug", "unplug") for block in offline)
    return ",".join(rows)


BIND = "bind:64,bind:64:ram,bind:64:o9:ram,bind:64:o18:ram,bind:64:ram:keep,bind:64:o9:ram:keep"
OTHERS = (
    "online:64:b2048,offline:64:b128,offline:64:b128:used,offline:64:b2048:used,plug:64:b128,"
    "unplug:64:b128,unplug:64:b128:used,unplug:64:b2048:used"
)
ALL = f"{BIND},{OTHERS},deferred:64,reserved:64,reserved:64:cma,reserved:64:kho"
# Of these, what the rows of 64 GiB do not have.
MORE = ",".join(row for row in ALL.split(",") if row not in list_rows(64).split(","))
THREADS = ",".join(
    f"{row}:t{n}" for row in ("fill:16", "fill:16:o9", "deferred:64") for n in (1, 2)
)
RACES = (
    Race(
        "memmap",
        MEMMAP,
        (
            *("check fill 30000", "check bind 304", "check deferred 1000", "check reserved 3000"),
            *("check online 200", "check offline 400", "check plug 400"),
            "beside=1 check fill 3000",
            *(f"threads={number} check fill 3000" for number in (2, 3, 8)),
        ),
        (
            # With rounds of each process: the larger, the fewer.
            *(
                f"{PLACE} race {list_rows(gib)} {n}"
                for gib, n in ((8, 8), (64, 8), (256, 1), (1024, 1))
            ),
            f"{PLACE} race {MORE} 3",
            f"{PLACE} {PLAIN} race {ALL} 3",
            f"{PLACE} race fill:100,fill:100:o9,fill:100:o18,fill:100:o9:ram,fill:100:o18:ram 8",
            f"{PLACE} race {','.join(f'fill:16:o{order}' for order in range(19))} 8",
            f"{PLACE} race {THREADS} 5",
        ),
        peer=True,
    ),
    # MiB to copy to; GiB of folios.
    Race("copy", COPY, (), ("race 256 3",)),
    Race("demotion", COPY, ("folios",), ("demote 4 3",)),
)


def take_results(raced: Samples) -> list[Result]:
    """Take the results out of what a program wrote; each tells what those of other runs may not."""
    facts = {"returns": raced.pop("returns"), "unit": raced.pop("unit"), "tree": raced["series"]}
    return [one | facts for one in raced.pop("results")]


def run_races(program: Path, races: Sequence[str], runs: int, folder: Path) -> Samples:
    """Race in so many processes, in turn; return the samples.

    A program gets one more word: the file to write its samples to. Raises UserError if one fails;
    the folder then keeps the samples of the processes that were complete, in unfinished.json.
    """
    results: list[list[Result]] = []
    samples: Samples = {}
    folder.mkdir(parents=True, exist_ok=True)
    with scratch(folder / "race.tmp") as scratched:
        for number, words in itertools.product(range(runs), races):
            chosen = words.format(process=number)
            announce(f"racing, process {number + 1} of {runs}: {chosen[:60]}")
            try:
                run(
                    [program, *chosen.split(), scratched / "race.json"],
                    "racing",
                    progress=show,
                )
            except UserError as error:
                if not results[:number]:
                    raise
                kept = folder / "unfinished.json"
                kept.write_text(json.dumps(finish(samples, results[:number]), indent=1) + "\n")
                raise UserError(f"{error}\n(samples of {number} processes: {kept})") from None
            raced = json.loads((scratched / "race.json").read_text())
            if len(results) == number:
                results.append([])
            results[-1] += take_results(raced)
            # Those of a CPU as it boots come first.
            samples = raced | samples
    return finish(samples, results)


def finish(samples: Samples, results: Sequence[Sequence[Result]]) -> Samples:
    """Return the samples of processes that a program told: with the CPU's name, and merged."""
    machine = ("vendor", "family", "model", "stepping", "name", "amx")
    cpu = name_cpu(*(samples[key] for key in machine))
    others = {key: value for key, value in samples.items() if key not in machine}
    return {"cpu": cpu, **others, "results": merge_runs(results)}


def list_checks(race: Race, program: Path) -> Iterator[str]:
    """Compare, and yield what the program says of it; Raises UserError where kernels differ."""
    for words in race.checks:
        announce(f"comparing: {words}")
        yield run([program, *words.split()], f"comparing ({words})", progress=show)


def keep_samples(folder: Path, name: str, text: str, samples: Samples) -> None:
    """Write the samples of a race, and only then make its table and print it."""
    with replace(folder) as new:
        new.mkdir()
        (new / f"{name}.json").write_text(json.dumps(samples, indent=1) + "\n")
    table = format_samples(samples)
    show(f"\n{table}")
    (folder / f"{name}.txt").write_text(f"{text}\n{table}")


def run_race(options: Options, race: Race) -> Samples:
    """Build, compare, race and keep the result; Raises UserError where the series differs."""
    if options.peer and not race.peer:
        raise UserError(f"PEER= is not for this race ({race.name}): leave it out")
    # Before the source is fetched: a system may have no such package.
    race.program.check(options)
    trees = tree.apply_series(options)
    peer = prepare_peer(options, trees.base.parent)
    program = race.program.build(options, trees, peer=peer)
    text = "".join(list_checks(race, program))
    folder = race.locate(options)
    samples = run_races(program, race.races, options.runs, folder.parent)
    keep_samples(folder, race.name, text, samples)
    say(f"table and raw samples: {folder}")
    say(f"the program, which runs on any x86-64 Linux: {program}")
    if peer:
        note_peer_drain(options)
    return samples


def run_named(options: Options) -> None:
    """Run the races whose program the command line names."""
    for race in RACES:
        if race.program.name == sys.argv[1]:
            run_race(options, race)


if __name__ == "__main__":
    run_stage(run_named)
