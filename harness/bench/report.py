# SPDX-License-Identifier: GPL-2.0
"""The table of the samples, by device and kernel, with first binds and rebinds apart."""

import itertools
import math
import re
import statistics
from statistics import fmean
from typing import Any

from harness.core import UserError
from report.samples import Row, align_rows

JIFFIES = 2
# What the reader of a table must know, by the accelerator.
WARNINGS = {
    "tcg": "\nTCG emulates the processor: a non-temporal store is a plain store there, so\n"
    "these are no times of real memory. The kernel boots, and binds each device.\n",
}
KINDS = {"first": "memmap, first bind", "memmap": "memmap, rebind", "bind": "whole bind, rebind"}


def select_values(samples: dict[str, Any], kernel: str, device: str, kind: str) -> list[float]:
    """Return the times of one kind (first, memmap or bind) from all boots of a kernel, in ms.

    On an overloaded host the guest's jiffies jump, and a memmap seems to take longer than its whole
    bind. Such rebinds are left out. Raises UserError when none is left.
    """
    devices: list[dict[str, Any]] = [
        boot["devices"][device] for boot in samples["boots"] if boot["kernel"] == kernel
    ]
    if kind == "first":
        return [times["first"] for times in devices]
    found = [
        time
        for times in devices
        for time, memmap, bind in zip(times[kind], times["memmap"], times["bind"], strict=True)
        if memmap <= bind + JIFFIES
    ]
    if not found:
        raise UserError(
            f"the guest's clock jumped in every rebind of {device} on {kernel}: "
            "wait until the machine is idle, then measure again"
        )
    return found


def compute_change(base: float, series: float) -> float:
    """Return the change from base to series in per cent, negative if the series takes less."""
    return math.nan if base == 0 else 100 * (series - base) / base


def list_kernels(samples: dict[str, Any]) -> list[str]:
    """Return the kernels that were booted: the series, and before it the base, if it was."""
    return [*dict.fromkeys(boot["kernel"] for boot in samples["boots"])]


def make_label(samples: dict[str, Any]) -> str:
    """Return the line that belongs to every figure: what was measured, where and when."""
    release = re.split("-base|-series", samples["boots"][0]["release"])[0]
    boots = len(samples["boots"]) // len(list_kernels(samples))
    accel = samples["accelerator"].upper()
    whose = "EMULATED" if accel == "TCG" else "NATIVE"
    return (
        f"{samples['gib']} GiB, {samples['arch']} kernel {release}, {whose}: "
        f"{accel} (QEMU {samples['qemu']}) on {samples['cpu']}, {samples['date']}, "
        f"{boots} boots x {samples['rebinds']} rebinds per kernel"
    )


def format_table(samples: dict[str, Any]) -> str:
    rows: list[Row] = [("in ms", "kernel", "n", "min", "median", "mean", "stdev", "change")]
    # All rebinds, less those that the table has.
    jumped = len(samples["pages"]) * len(samples["boots"]) * samples["rebinds"]
    for device, (kind, name) in itertools.product(samples["pages"], KINDS.items()):
        times = {one: select_values(samples, one, device, kind) for one in list_kernels(samples)}
        medians = {kernel: statistics.median(values) for kernel, values in times.items()}
        jumped -= sum(map(len, times.values())) * (kind == "bind")
        for kernel, values in times.items():
            is_last = kernel == "series" and len(times) == 2
            change = f"{compute_change(*medians.values()):+.1f} %" if is_last else ""
            spread = f"{statistics.stdev(values):.1f}" if len(values) > 1 else "-"
            cells = (f"{figure:.1f}" for figure in (min(values), medians[kernel], fmean(values)))
            rows.append((f"{device} {name}", kernel, str(len(values)), *cells, spread, change))
    pages = ", ".join(f"{device} {pages}" for device, pages in samples["pages"].items())
    text = f"{make_label(samples)}\npages: {pages}\n\n{align_rows(rows)}"
    if jumped:
        text += (
            f"\nLeft out: {jumped} rebinds whose memmap took longer than their whole bind, because "
            "the guest's\nclock jumped: the host was busy with something else.\n"
        )
    return text + WARNINGS.get(samples["accelerator"], "")
