# SPDX-License-Identifier: GPL-2.0
"""The measurement: interleaved boots of both kernels, their times kept as JSON."""

import dataclasses
import json
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from harness import console
from harness.accel import accel
from harness.guest import Guest, boot, need_memory, qemu_version
from harness.initramfs import initramfs
from harness.kernels import Kernel, kernels
from harness.options import Options, start
from harness.process import Fault, say, step
from harness.tree import tree

MIB = 2**20
STRUCT_PAGE = 64


def pages(gib: float) -> int:
    """Return the number of page structs that the kernel fills for a namespace of gib GiB with its memmap on the device.

    nd_pfn_init() (drivers/nvdimm/pfn_devs.c) puts 8 KiB of superblock and a
    struct page for every page behind them in front of the data, which then
    starts on the namespace's alignment, here 2 MiB.
    """
    size = int(gib * 1024) * MIB
    before = 8192 + STRUCT_PAGE * ((size - 8192) // 4096)
    return (size - -(-before // (2 * MIB)) * 2 * MIB) // 4096


def cpu() -> str:
    """Return the host's CPU model."""
    match = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    return match[1].strip() if match else "unknown CPU"


def progress(options: Options, what: str) -> Callable[[str], None]:
    """Return a callback that reports the guest's stages and every few rebinds."""
    every = max(1, options.rebinds // 3)

    def tell(spoken: str) -> None:
        if spoken.startswith(console.STAGE):
            step(f"{what}: {spoken.removeprefix(console.STAGE)}")
        elif (match := console.REBIND.match(spoken)) and int(match[3]) % every == 0:
            say(f"{what}: {match[1]} {match[3]}/{match[4]}, memmap {match[5]} ms, bind {match[6]} ms")

    return tell


def measure(
    options: Options, kernel: Kernel, image: Path, accelerator: str, log: Path, what: str
) -> dict[str, console.Times]:
    """Boot a kernel once and return its times; Raises Fault when the guest fails or its console does not add up."""
    guest = Guest(kernel, image, accelerator, options.gib, f"zdm.do=rebind zdm.rebinds={options.rebinds}")
    text = boot(guest, log, progress(options, what), 300 + options.gib * options.rebinds / 5)
    try:
        return console.times(text, kernel.release, options.rebinds, pages(options.gib))
    except console.BadConsole as bad:
        raise Fault(f"{what}: {bad} (whole console: {log})") from None


def samples(options: Options) -> Path:
    """Build what is needed, boot base, series, base, series... and return build/bench or build/bench-ARCH, with samples.json and the consoles.

    The folder appears whole or not at all. Raises Fault as the stages do.
    """
    qemu = qemu_version(options.arch)
    trees = tree(options)
    pair = kernels(options, trees)
    image = initramfs(options, trees.series)
    need_memory(options.gib)
    accelerator = accel(options, pair[0], image)
    made, home = options.bench.with_suffix(".tmp"), options.bench
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    boots: list[dict[str, object]] = []
    for number in range(1, options.boots + 1):
        for name, kernel in zip(("base", "series"), pair, strict=True):
            what = f"boot {len(boots) + 1}/{2 * options.boots} ({kernel.name}, {accelerator})"
            step(what)
            found = measure(options, kernel, image, accelerator, made / f"{number}-{name}.log", what)
            boots.append(
                {
                    "kernel": name,
                    "release": kernel.release,
                    "build": kernel.image.parent.name,
                    "drivers": {driver: dataclasses.asdict(t) for driver, t in found.items()},
                }
            )
    whole = {
        "date": time.strftime("%Y-%m-%d"),
        "arch": options.arch,
        "accelerator": accelerator,
        "cpu": cpu(),
        "qemu": qemu,
        "gib": options.gib,
        "pages": pages(options.gib),
        "rebinds": options.rebinds,
        "boots": boots,
    }
    (made / "samples.json").write_text(json.dumps(whole, indent=1) + "\n")
    shutil.rmtree(home, ignore_errors=True)
    made.rename(home)
    return home


if __name__ == "__main__":
    start(samples)
