# SPDX-License-Identifier: GPL-2.0
"""`make bench-boot`: boot both kernels with much RAM, and compare their memory when they are up."""

import dataclasses
import functools
import itertools
import json
import statistics
from pathlib import Path
from typing import Any

from harness.bench.measure import Setup, describe_kernel, keep_consoles, make_setup, name_console
from harness.bench.report import WARNINGS, describe_setup, name_unit
from harness.bench.zones import Boot, read_boot
from harness.core.errors import UserError
from harness.core.options import Options
from harness.core.progress import announce, say
from harness.core.stages import run_stage
from harness.vm.guest import RAM_GIB, Guest, announce_stage, boot_guest, need_memory

# CPUs and nodes of each guest.
SHAPES = ((1, 1), (1, 2), (2, 1), (2, 2))
# Two boots of one kernel differ by less. Deferred initialisation frees 1024 pages at once, so a
# fault in it would lose more.
LOST_PAGES = 512
LIMIT = 1800
SILENCE = 300


@dataclasses.dataclass(frozen=True)
class Run:
    """One boot of a kernel, base or series, in a guest of a shape."""

    kernel: str
    cpus: int
    nodes: int
    boot: Boot

    @property
    def shape(self) -> str:
        """The guest, as a message names it."""
        return f"CPUs: {self.cpus}, nodes: {self.nodes}"


def boot_shapes(options: Options, setup: Setup, logs: Path) -> list[Run]:
    """Boot base, series, base, series... in each shape; Raises UserError unless all are clean."""
    runs: list[Run] = []
    of = 2 * setup.boots * len(SHAPES)
    kernels = zip(("base", "series"), setup.pair, strict=True)
    turns = itertools.product(range(1, setup.boots + 1), SHAPES, kernels)
    for number, (cpus, nodes), (name, kernel) in turns:
        shape = f"CPUs: {cpus}, nodes: {nodes}"
        what = f"boot {len(runs) + 1}/{of} ({kernel.name}, {shape}, {setup.accelerator})"
        announce(what)
        log = logs / f"{number}-{cpus}-{nodes}-{name}.log"
        head = kernel, setup.image, setup.accelerator
        # With a random place of the kernel, memory is split in other ways in each boot.
        words = "zdm.do=zones nokaslr"
        guest = Guest(*head, words=words, ram_gib=options.ram_gib, cpus=cpus, nodes=nodes)
        text = boot_guest(guest, log, functools.partial(announce_stage, what), LIMIT, SILENCE)
        with name_console(what, log):
            runs.append(Run(name, cpus, nodes, read_boot(text, kernel.release, nodes)))
    return runs


def list_shapes(runs: list[Run]) -> dict[str, list[Run]]:
    """Return the runs of each shape, in their order."""
    shapes: dict[str, list[Run]] = {}
    for run in runs:
        shapes.setdefault(run.shape, []).append(run)
    return shapes


def find_spread(runs: list[Run]) -> int:
    """Return by how many free pages the boots of one shape differ at most."""
    free = [run.boot.free for run in runs]
    return max(free) - min(free)


def check_zones(runs: list[Run]) -> None:
    """Raise UserError unless all boots of a shape have the same memory.

    The pages of each zone, present and managed, must be the same, and with one CPU those that are
    free after deferred initialisation. With more, and later, the number of free pages changes from
    boot to boot, even of one kernel, but by less than LOST_PAGES.
    """
    for shape, those in list_shapes(runs).items():
        first = those[0]
        for run in those:
            zones = (map(str, one.boot.zones) for one in (first, run))
            for want, have in itertools.zip_longest(*zones, fillvalue="no such zone"):
                if want != have:
                    raise UserError(f"{shape}: {first.kernel} has {want}; {run.kernel} has {have}")
            if run.cpus == 1 and run.boot.available != first.boot.available:
                raise UserError(
                    f"{shape}: after deferred initialisation {first.boot.available} pages are "
                    f"free in {first.kernel}, but {run.boot.available} in {run.kernel}"
                )
        if (spread := find_spread(those)) >= LOST_PAGES:
            raise UserError(
                f"{shape}: the numbers of free pages differ by {spread}, "
                "so a block may be lost: "
                + ", ".join(f"{run.kernel} {run.boot.free}" for run in those)
            )


def format_range(values: list[int]) -> str:
    """Return the least and the greatest of values, or one of them if they are the same."""
    return "-".join(map(str, sorted({min(values), max(values)})))


def format_table(samples: dict[str, Any], runs: list[Run]) -> str:
    """Return the table as text."""
    counted, unit = samples["accelerator"] == "icount", name_unit(samples)
    rows = [
        f"Boot with {samples['gib']} GiB of RAM, {'time in ' * (unit == 'ms')}{unit}",
        describe_setup(samples),
        "deferred: deferred initialisation of all nodes; up: from the start of the kernel to",
        "init; both are medians. free: the pages that are free after the one and after the other.",
        "",
        f"{'CPUs':>4}{'nodes':>6}  {'kernel':8}{'n':>2}{'deferred':>10}"
        + "per struct page".rjust(17) * counted
        + f"{'up':>10}{'managed':>10}  {'free, after':19}  {'free, up':19}".rstrip(),
    ]
    for those in list_shapes(runs).values():
        for kernel in ("base", "series"):
            boots = [run.boot for run in those if run.kernel == kernel]
            deferred = statistics.median(boot.deferred_ms for boot in boots)
            each = f"{deferred * 1e6 / boots[0].count_deferred():17.1f}" * counted
            rows.append(
                f"{those[0].cpus:4}{those[0].nodes:6}  {kernel:8}{len(boots):2}{deferred:10.0f}"
                f"{each}{statistics.median(boot.up_ms for boot in boots):10.0f}"
                f"{boots[0].managed:10}  "
                f"{format_range([boot.available for boot in boots]):19}  "
                f"{format_range([boot.free for boot in boots]):19}".rstrip()
            )
    return "\n".join([*rows, *WARNINGS.get(samples["accelerator"], ())]) + "\n"


def format_verdict(runs: list[Run]) -> str:
    """Return the last line, for runs that check_zones() accepts."""
    shapes = list_shapes(runs).values()
    pages = format_range([those[0].boot.managed for those in shapes])
    return (
        f"bench-boot: base and series have the same {pages} pages managed in each of "
        f"{len(shapes)} guests; free pages differ by {max(map(find_spread, shapes))} at most"
    )


def run_boots(options: Options) -> None:
    """Boot, compare, and write table and samples; Raises UserError as check_zones() does."""
    need_memory(0, (), options.ram_gib, max(0, options.ram_gib - RAM_GIB))
    setup = make_setup(options)
    folder = options.name_result("bench-boot")
    with keep_consoles(folder) as new:
        runs = boot_shapes(options, setup, new)
        entries = [
            describe_kernel(run.kernel, setup.pair[run.kernel == "series"])
            | {"cpus": run.cpus, "nodes": run.nodes, **dataclasses.asdict(run.boot)}
            for run in runs
        ]
        samples = setup.describe(options) | {"gib": options.ram_gib, "boots": entries}
        (new / "samples.json").write_text(json.dumps(samples, indent=1) + "\n")
        table = format_table(samples, runs)
        (new / "table.txt").write_text(table)
    print(f"\n{table}")
    say(f"raw samples, consoles and table: {folder}")
    check_zones(runs)
    print(format_verdict(runs))


if __name__ == "__main__":
    run_stage(run_boots)
