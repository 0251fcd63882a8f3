# SPDX-License-Identifier: GPL-2.0
"""The first stage of `make bench`: what both kernels take on this CPU, before any of them boots."""

from harness.core import Options, announce, run, run_stage, say
from harness.core.cache import replace
from harness.kernel.tree import apply_series
from harness.link.program import MEMMAP
from harness.link.race import show


def measure_here(options: Options) -> None:
    """Compare and race by the program's own choice; keep its table and samples, all or none.

    Raises UserError when a tree does not compile, and where the kernels differ.
    """
    # Before the source is fetched: a system may have no such package.
    MEMMAP.check(options)
    program = MEMMAP.build(options, apply_series(options))
    folder = options.build / "result/bench"
    announce("comparing the kernels byte for byte, then racing them")
    with replace(folder) as new:
        new.mkdir()
        table = run(
            [program, "--json", "memmap.json"], "comparing and racing", progress=show, cwd=new
        )
        (new / "memmap.txt").write_text(table)
    say(f"table and samples: {folder}")
    say(f"the program, which runs on any x86-64 Linux: {program}")


if __name__ == "__main__":
    run_stage(measure_here)
