# SPDX-License-Identifier: GPL-2.0
"""`make bench`: measure, then write the table and the plot."""

import json

from harness.bench.measure import measure_kernels
from harness.bench.plot import draw_bench
from harness.bench.report import format_table
from harness.core.options import Options
from harness.core.progress import announce, say
from harness.core.stages import run_stage


def run_bench(options: Options) -> None:
    """Measure, write table and plot, and print the table; Raises UserError as the stages do."""
    folder = measure_kernels(options)
    announce("writing the table and the plot")
    samples = json.loads((folder / "samples.json").read_text())
    table = format_table(samples)
    (folder / "table.txt").write_text(table)
    print(f"\n{table}")
    draw_bench(samples, folder / "bench.png")
    say(f"raw samples, consoles, table and plot: {folder}, bench.png")


if __name__ == "__main__":
    run_stage(run_bench)
