# SPDX-License-Identifier: GPL-2.0
"""`make bench`: boot the series, by KVM the base, too, and keep their times as JSON and table."""

import contextlib
import dataclasses
import functools
import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from harness.bench.report import format_table
from harness.core import Options, announce, run_stage, say
from harness.core.cache import remove, replace
from harness.core.cpu import describe_cpu
from harness.kernel.configs import BOOTED
from harness.kernel.images import Kernel, build_kernel, build_pair
from harness.kernel.tree import Trees, apply_series
from harness.vm import console
from harness.vm.accel import choose_accel
from harness.vm.devices import count_pages, list_devices
from harness.vm.guest import Guest, announce_stage, boot_guest, check_qemu, need_memory
from harness.vm.initramfs import make_initramfs


@contextlib.contextmanager
def keep_consoles(folder: Path) -> Iterator[Path]:
    """Yield an empty folder for consoles, and make it folder when the block succeeds.

    If the block fails, the consoles stay where its error says that they are.
    """
    logs = folder.with_name(f"{folder.name}-unfinished")
    remove(logs)
    logs.mkdir(parents=True)
    yield logs
    with replace(folder) as new:
        logs.rename(new)


def make_guest(options: Options, kernel: Kernel, image: Path, accelerator: str) -> Guest:
    """Return the guest that rebinds all devices."""
    words = f"zdm.do=rebind zdm.rebinds={options.rebinds}"
    devices = list_devices(kernel.arch)
    return Guest(kernel, image, accelerator, options.gib, words, devices=devices)


def measure_boot(
    options: Options, kernel: Kernel, image: Path, accelerator: str, log: Path, what: str
) -> dict[str, console.Times]:
    """Boot once and return each device's times; Raises UserError unless the console is clean."""
    guest = make_guest(options, kernel, image, accelerator)
    limit = 300 + options.gib * options.rebinds * len(guest.devices) / 10
    text = boot_guest(guest, log, functools.partial(announce_stage, what), limit)
    pages = count_pages(guest.devices, options.gib)
    with console.name_console(what, log):
        return console.read_times(text, kernel.release, options.rebinds, pages)


def build_kernels(options: Options, trees: Trees, image: Path) -> tuple[str, dict[str, Kernel]]:
    """Return the accelerator, and the kernels that are worth a boot by it.

    An emulator's times say little of either kernel, so it boots the series alone.
    """
    series = build_kernel(options, "series", trees.series, BOOTED[options.arch])
    accel = choose_accel(options, series, image)
    if accel != "kvm":
        return accel, {"series": series}
    return accel, dict(zip(("base", "series"), build_pair(options, trees), strict=True))


def boot_all(
    options: Options,
    kernels: Mapping[str, Kernel],
    image: Path,
    accel: str,
    boots: int,
    logs: Path,
) -> list[dict[str, object]]:
    """Boot each kernel, and all again..., and return the entry of each boot in samples.json."""
    entries: list[dict[str, object]] = []
    for number in range(1, boots + 1):
        for name, kernel in kernels.items():
            what = f"boot {len(entries) + 1}/{len(kernels) * boots} ({kernel.name}, {accel})"
            announce(what)
            log = logs / f"{number}-{name}.log"
            found = measure_boot(options, kernel, image, accel, log, what)
            devices = {key: dataclasses.asdict(times) for key, times in found.items()}
            head = {"kernel": name, "release": kernel.release, "build": kernel.image.parent.name}
            entries.append(head | {"devices": devices})
    return entries


def run_bench(options: Options) -> Path:
    """Build and boot what build_kernels() chooses, in turn, and write and print what they tell.

    The folder of samples.json and the consoles appears whole or not at all; the table is
    added to it. Returns the folder. Raises UserError when a build or a boot fails.
    """
    devices = list_devices(options.arch)
    need_memory(options.gib, devices)
    qemu = check_qemu(options.arch)
    trees = apply_series(options)
    image = make_initramfs(options, trees.series)
    accel, kernels = build_kernels(options, trees, image)
    # Boots of one kernel differ in time, and an emulator's times mean little.
    boots = 2 if accel == "kvm" else 1
    folder = options.name_result("bench")
    with keep_consoles(folder) as new:
        samples: dict[str, object] = {
            "date": time.strftime("%Y-%m-%d"),
            "arch": options.arch,
            "accelerator": accel,
            "cpu": describe_cpu(),
            "qemu": qemu,
            "gib": options.gib,
            "pages": count_pages(devices, options.gib),
            "rebinds": options.rebinds,
            "boots": boot_all(options, kernels, image, accel, boots, new),
        }
        (new / "samples.json").write_text(json.dumps(samples, indent=1) + "\n")
    announce("writing the table")
    table = format_table(samples)
    (folder / "table.txt").write_text(table)
    print(f"\n{table}", flush=True)
    say(f"raw samples, consoles and table: {folder}")
    return folder


if __name__ == "__main__":
    run_stage(run_bench)
