# SPDX-License-Identifier: GPL-2.0
"""`make bench`: the samples, then the table and the plot."""

from harness.options import Options, start
from harness.plot import plot
from harness.process import say, step
from harness.report import report
from harness.samples import samples


def bench(options: Options) -> None:
    """Measure and show; Raises Fault as the stages do."""
    home = samples(options)
    step("writing the table and the plot")
    print(f"\n{report(home)}")
    say(f"raw samples, consoles, table and plot: {home}, {plot(home).name}")


if __name__ == "__main__":
    start(bench)
