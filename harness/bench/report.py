# SPDX-License-Identifier: GPL-2.0
"""The table of the samples, by device and kernel, with first binds and rebinds apart."""

import math
import re
import statistics
from typing import Any

from harness.core import UserError

JIFFIES = 2
# What the reader of a table must know, by the accelerator.
WARNINGS = {
    "tcg": (
        "",
        "TCG emulates the processor: a non-temporal store is a plain store there, so",
        "these are no times of real memory. The kernel boots, and binds each device.",
    ),
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


def name_how(accelerator: str) -> str:
    """Return whose time a guest's is: the CPU's, or an emulator's."""
    return "EMULATED" if accelerator == "tcg" else "NATIVE"


def list_kernels(samples: dict[str, Any]) -> list[str]:
    """Return the kernels that were booted: the series, and before it the base, if it was."""
    return [*dict.fromkeys(boot["kernel"] for boot in samples["boots"])]


def make_label(samples: dict[str, Any]) -> str:
    """Return the line that belongs to every figure: what was measured, where and when."""
    release = re.split("-base|-series", samples["boots"][0]["release"])[0]
    boots = len(samples["boots"]) // len(list_kernels(samples))
    accel = samples["accelerator"]
    return (
        f"{samples['gib']} GiB, {samples['arch']} kernel {release}, {name_how(accel)}: "
        f"{accel.upper()} (QEMU {samples['qemu']}) on {samples['cpu']}, {samples['date']}, "
        f"{boots} boots x {samples['rebinds']} rebinds per kernel"
    )


def format_table(samples: dict[str, Any]) -> str:
    rows = [
        "ZONE_DEVICE memmap initialisation, time in ms",
        make_label(samples),
        "pages: " + ", ".join(f"{device} {pages}" for device, pages in samples["pages"].items()),
        "",
        f"{'device':12}{'what':20}{'kernel':8}{'n':>4}{'min':>9}"
        f"{'median':>9}{'mean':>9}{'stdev':>8}{'change':>9}",
    ]
    # All rebinds, less those that the table has.
    jumped = len(samples["pages"]) * len(samples["boots"]) * samples["rebinds"]
    for device in samples["pages"]:
        for kind, name in KINDS.items():
            both = {
                kernel: select_values(samples, kernel, device, kind)
                for kernel in list_kernels(samples)
            }
            medians = {kernel: statistics.median(values) for kernel, values in both.items()}
            for kernel, values in both.items():
                if kind == "bind":
                    jumped -= len(values)
                spread = f"{statistics.stdev(values):.1f}" if len(values) > 1 else "-"
                is_last = kernel == "series" and len(both) == 2
                change = f"{compute_change(*medians.values()):+.1f} %" if is_last else ""
                rows.append(
                    f"{device:12}{name:20}{kernel:8}{len(values):4}{min(values):9.1f}"
                    f"{medians[kernel]:9.1f}{statistics.fmean(values):9.1f}{spread:>8}"
                    f"{change:>9}".rstrip()
                )
    if jumped:
        rows += [
            "",
            f"Left out: {jumped} rebinds whose memmap took longer than their whole bind, "
            "because the guest's",
            "clock jumped: the host was busy with something else.",
        ]
    return "\n".join([*rows, *WARNINGS.get(samples["accelerator"], ())]) + "\n"
