# SPDX-License-Identifier: GPL-2.0
"""`make record`: every replay on this machine, into results/DATE-CPU/, ready to commit or send."""

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from harness.core.cache import replace
from harness.core.errors import UserError
from harness.core.options import Options
from harness.core.progress import say
from harness.core.stages import run_stage
from harness.replay.boot import BOOT, HUGETLB, ONLINE
from harness.replay.copy import COPY
from harness.replay.demotion import DEMOTION
from harness.replay.device import DEVICE
from harness.replay.parallel import PARALLEL
from harness.replay.run import run_replay
from harness.replay.samples import RESULTS, Samples, describe_runs, find_stolen

REPLAYS = (DEVICE, BOOT, ONLINE, HUGETLB, PARALLEL, DEMOTION, COPY)


def name_folder(samples: Samples) -> str:
    """Return DATE-CPU: the microarchitecture if it is known, else the model name.

    The name of a configuration that is not the default of CONFIG= is added.
    """
    cpu = str(samples["cpu"])
    known = re.search(r" \(([^()]+)\)$", cpu)
    name = known[1] if known else cpu.split(", family")[0]
    config, _, _ = samples["config"].rpartition(", ")
    name += f" {config}" if config not in ("", Options.config) else ""
    return f"{samples['date']}-{re.sub('[^a-z0-9]+', '-', name.lower()).strip('-')}"


def format_readme(all_samples: dict[str, Samples]) -> str:
    """Return README.md, made from what the programs recorded."""
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
            f"{samples['config']} | {find_stolen(samples):.0%} at most |"
        )
    return "\n".join(rows) + "\n"


def write_results(folders: Iterable[Path], all_samples: dict[str, Samples], results: Path) -> Path:
    """Return results/DATE-CPU with the results and README.md; Raises UserError if it exists."""
    where = results / name_folder(next(iter(all_samples.values())))
    if where.exists():
        raise UserError(f"{where} exists: move it away, or commit it and come back tomorrow")
    with replace(where) as new:
        new.mkdir()
        for folder in folders:
            for file in folder.iterdir():
                shutil.copy(file, new)
        (new / "README.md").write_text(format_readme(all_samples))
    return where


def run_record(options: Options) -> None:
    """Run every replay and write results/; Raises UserError as the stages do."""
    if options.peer:
        raise UserError("make record has no PEER=: leave it out")
    all_samples = {replay.name: run_replay(options, replay) for replay in REPLAYS}
    folders = [replay.locate(options) for replay in REPLAYS]
    where = write_results(folders, all_samples, RESULTS)
    say(f"ready to commit: {where}")


if __name__ == "__main__":
    run_stage(run_record)
