# SPDX-License-Identifier: GPL-2.0
"""`make record`: all races on this machine, into results/DATE-CPU/, ready to commit.

With FROM=, instead, the samples that a program wrote on another machine.
"""

import datetime
import itertools
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.core import Options, UserError, run_stage, say
from harness.core.cache import replace
from harness.core.cpu import describe_cpu
from harness.link.race import RACES, Race, finish, run_race, take_results
from report.rows import format_samples
from report.samples import RESULTS, Samples, describe_runs, find_stolen

# What a program says of its machine and of itself, besides the results.
TOLD = {"vendor", "family", "model", "stepping", "name", "amx", "date", "base", "series", "config"}


def name_folder(cpu: str, config: str, date: str) -> str:
    """Return DATE-CPU: the microarchitecture if it is known, else the model name.

    The name of a configuration that is not the default of CONFIG= is added.
    """
    known = re.search(r" \(([^()]+)\)$", cpu)
    name = known[1] if known else cpu.split(", family")[0]
    name += f" {config}" if config != Options.config else ""
    return f"{date}-{re.sub('[^a-z0-9]+', '-', name.lower()).strip('-')}"


def choose_folder(results: Path, name: str) -> Path:
    """Return the folder of this name, or the first of NAME-2, NAME-3... that is not there."""
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(results / one for one in names if not (results / one).exists())


def format_readme(all_samples: Mapping[str, Samples], failed: Sequence[str]) -> str:
    first = next(iter(all_samples.values()))
    guest = "a virtual machine" if first["hypervisor"] else "no virtual machine"
    rows = [
        "<!-- SPDX-License-Identifier: GPL-2.0 -->",
        f"# {first['cpu']}, {first['date']}",
        "",
        "Made by `make record`.",
        "",
        "| what | value |",
        "|---|---|",
        f"| CPU | {first['cpu']} |",
        f"| machine | {first['cpus']} CPUs, {first['memory_gib']} GiB of memory, {guest} |",
        f"| its kernel | {first['host_kernel']} |",
        f"| as it boots | {first['because']} |",
        f"| base, `git rev-parse HEAD^{{tree}}` | {first['base']} |",
        f"| series, `git rev-parse HEAD^{{tree}}` | {first['series']} |",
        f"| compiler | {first['compiler']} |",
        f"| this repository | {first['commit']} |",
        "",
        "| files | measured | configuration | CPU time that the hypervisor took |",
        "|---|---|---|---|",
    ]
    for name, samples in all_samples.items():
        rows.append(
            f"| `{name}.*` | {describe_runs(samples)} | {samples['config']} "
            f"| {find_stolen(samples['results']):.0%} at most |"
        )
    rows += ["", f"These failed: {', '.join(failed)}."] * bool(failed)
    return "\n".join(rows) + "\n"


def add_foreign(file: Path, results: Path = RESULTS) -> Path:
    """Keep the samples that `memmap` wrote elsewhere; Raises UserError if they are no such file."""
    try:
        raced = json.loads(file.read_text())
        rows = take_results(raced)
        if missing := TOLD - raced.keys():
            raise KeyError(missing.pop())
        samples = finish(raced, [rows])
        table = format_samples(samples)
        readme = format_readme({"memmap": samples}, ())
        config = str(samples["config"]).partition(",")[0]
        folder = choose_folder(results, name_folder(samples["cpu"], config, samples["date"]))
    except (OSError, ValueError, LookupError, AttributeError, TypeError, StopIteration) as error:
        raise UserError(
            f"FROM={file} is no file that the program memmap wrote ({error}): "
            "run it without words there, and give the file that it names"
        ) from None
    with replace(folder) as new:
        new.mkdir()
        (new / "memmap.json").write_text(json.dumps(samples, indent=1) + "\n")
        (new / "memmap.txt").write_text(table)
        (new / "README.md").write_text(readme)
    print(table, flush=True)
    return folder


def run_record(options: Options, races: Sequence[Race] = RACES, results: Path = RESULTS) -> None:
    """Run every race, and write what it gave at once; Raises UserError if one failed."""
    if options.foreign:
        say(f"ready to commit: {add_foreign(options.foreign, results)}")
        return
    if options.peer:
        raise UserError("make record has no PEER=: leave it out")
    today = datetime.date.today().isoformat()
    folder = choose_folder(results, name_folder(describe_cpu(), options.config, today))
    say(f"{len(races)} races, each written to {folder} when it is done")
    done: dict[str, Samples] = {}
    failed = []
    for race in races:
        try:
            done[race.name] = run_race(options, race)
            shutil.copytree(race.locate(options), folder, dirs_exist_ok=True)
        except UserError as error:
            say(f"{race.name} failed, going on: {error}")
            failed.append(race.name)
        if done:
            (folder / "README.md").write_text(format_readme(done, failed))
    if failed:
        rest = f"{folder} has the others" if done else "nothing was written"
        raise UserError(f"{', '.join(failed)} failed (see above): {rest}")
    say(f"ready to commit: {folder}")


if __name__ == "__main__":
    run_stage(run_record)
