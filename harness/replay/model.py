# SPDX-License-Identifier: GPL-2.0
"""A model, not a measurement: how long one device takes with more threads than we could run.

Threads add up until the memory is full: time = bytes / min(threads * rate of one thread, share *
bandwidth of the socket), and the caller initialises the pageblocks alone. docs/parallel.md names
the sources of the constants and says what would prove the model wrong.
"""

from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

from harness.replay.plot import INK

STRUCT_PAGE = 64
PAGE = 4096
PAGEBLOCK = 512
# Assumed, in seconds.
PER_PAGEBLOCK = 10e-9
# Which share of the published bandwidth plain stores reach, at worst and at best: assumed.
SHARES = (0.5, 0.8)
THREADS = tuple(range(1, 65))
SIZES = {"100 GiB": 100 * 2**30, "6 TiB": 6 * 2**40}


@dataclass(frozen=True)
class Socket:
    """A CPU: ns per struct page of one thread (README.md), and its published bytes per second."""

    name: str
    ns_per_page: float
    bandwidth: float
    color: str


SOCKETS = (
    Socket("Sapphire Rapids, 8 x DDR5-4800", 3.65, 307.2e9, "#1668b8"),
    Socket("Zen 4, 12 x DDR5-4800", 2.27, 460.8e9, "#d08b2c"),
)


def find_time(socket: Socket, size: float, threads: int, share: float) -> float:
    """Return the modelled seconds for a device of size bytes at order 0."""
    pages = size / PAGE
    rate = min(threads * STRUCT_PAGE / (socket.ns_per_page * 1e-9), share * socket.bandwidth)
    return pages * STRUCT_PAGE / rate + pages / PAGEBLOCK * PER_PAGEBLOCK


def format_model() -> str:
    """Return a table of the modelled times: ms at the best and at the worst share."""
    rows = ["MODEL, not measured: ms at order 0, best to worst share of the bandwidth"]
    for socket in SOCKETS:
        for name, size in SIZES.items():
            row = f"{socket.name}, {name}:"
            for threads in (1, 2, 4, 8, 16, 32, 64):
                worst, best = (find_time(socket, size, threads, x) * 1e3 for x in SHARES)
                row += f"  {threads}: {best:.0f}" + (f"-{worst:.0f}" if worst > best * 1.01 else "")
            rows.append(row)
    return "\n".join(rows) + "\n"


def draw_model(png: Path) -> None:
    """Draw the modelled time over the threads: a panel for each size, a band for each CPU."""
    figure, panels = pyplot.subplots(1, len(SIZES), figsize=(10, 4.6), layout="constrained")
    for axes, (name, size) in zip(panels, SIZES.items(), strict=True):
        for socket in SOCKETS:
            worst, best = (
                [find_time(socket, size, n, share) * 1e3 for n in THREADS] for share in SHARES
            )
            axes.fill_between(THREADS, best, worst, color=socket.color, alpha=0.3, linewidth=0)
            axes.plot(THREADS, best, color=socket.color, label=socket.name)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlabel("threads", color=INK)
        axes.set_ylabel("ms (model)", color=INK)
        axes.set_title(f"MODEL, not measured: {name}, order 0", color=INK)
        axes.grid(color="#e3e5e8")
    panels[0].legend(frameon=False)
    figure.savefig(png, dpi=130)
    pyplot.close(figure)
