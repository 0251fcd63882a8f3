# SPDX-License-Identifier: GPL-2.0
"""`make bench`: measure, then write the table and the plot."""

from harness.bench.measure import measure_kernels
from harness.bench.plot import draw_bench
from harness.bench.report import write_report
from harness.core.options import Options
from harness.core.progress import announce, say
from harness.core.stages import run_stage


def run_bench(options: Options) -> None:
    """Measure, write table and plot, and print the table; Raises UserError as the stages do."""
    folder = measure_kernels(options)
    announce("writing the table and the plot")
    print(f"\n{write_report(folder)}")
    say(f"raw samples, consoles, table and plot: {folder}, {draw_bench(folder).name}")


if __name__ == "__main__":
    run_stage(run_bench)
