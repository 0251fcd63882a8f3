# SPDX-License-Identifier: GPL-2.0
"""`make record`: all replays and boots on this machine, into results/DATE-CPU/, ready to send."""

import datetime
import itertools
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.bench.measure import run_bench
from harness.bench.report import make_label
from harness.core import Options, UserError, run_stage, say
from harness.core.cpu import describe_cpu
from harness.replay.bind import BIND
from harness.replay.boot import BOOT, ONLINE
from harness.replay.copy import COPY
from harness.replay.demotion import DEMOTION
from harness.replay.device import DEVICE
from harness.replay.parallel import PARALLEL
from harness.replay.run import Replay, run_replay
from harness.replay.samples import RESULTS, Samples, describe_runs, find_stolen
from harness.vm.accel import find_kvm

REPLAYS = (DEVICE, BOOT, ONLINE, PARALLEL, DEMOTION, COPY, BIND)


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
        f"| base, `git rev-parse HEAD^{{tree}}` | {first['base']} |",
        f"| series, `git rev-parse HEAD^{{tree}}` | {first['series']} |",
        f"| compiler | {first['compiler']} |",
        f"| this repository | {first['commit']} |",
        "",
        "| files | command | measured | configuration | CPU time that the hypervisor took |",
        "|---|---|---|---|---|",
    ]
    for name, samples in all_samples.items():
        target = name if name == "replay" else f"replay-{name}"
        rows.append(
            f"| `{name}.*` | `make {target}` | {describe_runs(samples)} | "
            f"{samples['config']} | {find_stolen(samples['results']):.0%} at most |"
        )
    rows += ["", f"These failed: {', '.join(failed)}."] * bool(failed)
    return "\n".join(rows) + "\n"


def add_bench(options: Options, where: Path) -> None:
    folder = run_bench(options)
    shutil.copy(folder / "samples.json", where / "bench.json")
    shutil.copy(folder / "table.txt", where / "bench.txt")
    label = make_label(json.loads((where / "bench.json").read_text()))
    with (where / "README.md").open("a") as readme:
        readme.write(f"\n`bench.*`: `make bench`, {label}.\n")


def run_record(
    options: Options, replays: Sequence[Replay] = REPLAYS, results: Path = RESULTS
) -> None:
    """Run every replay, and write what it gave at once; Raises UserError if one failed.

    Where a guest's time is the CPU's own, whole kernels are booted, too.
    """
    if options.peer:
        raise UserError("make record has no PEER=: leave it out")
    today = datetime.date.today().isoformat()
    where = choose_folder(results, name_folder(describe_cpu(), options.config, today))
    say(f"{len(replays)} replays, each written to {where} when it is done")
    done: dict[str, Samples] = {}
    failed = []
    for replay in replays:
        try:
            done[replay.name] = run_replay(options, replay)
            shutil.copytree(replay.locate(options), where, dirs_exist_ok=True)
        except UserError as error:
            say(f"{replay.name} failed, going on: {error}")
            failed.append(replay.name)
        if done:
            (where / "README.md").write_text(format_readme(done, failed))
    best, why = find_kvm(options.build)
    if best == "tcg":
        say(f"no make bench: {why}")
    elif done:
        try:
            add_bench(options, where)
        except UserError as error:
            say(f"make bench failed: {error}")
            failed.append("bench")
    if failed:
        rest = f"{where} has the others" if done else "nothing was written"
        raise UserError(f"{', '.join(failed)} failed (see above): {rest}")
    say(f"ready to commit: {where}")


if __name__ == "__main__":
    run_stage(run_record)
