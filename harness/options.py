# SPDX-License-Identifier: GPL-2.0
"""The make variables, checked, as one object, and the frame in which a stage runs with them."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.process import ROOT, Fault, locked, main

SIZES = range(1, 1025)
ARCHES = ("x86_64", "arm64")
ACCELS = ("kvm", "tcg", "icount")


@dataclass(frozen=True)
class Options:
    """What the user can choose; gib is the size of each of the two devices, arch is the guest's, accel is one of ACCELS or empty."""

    gib: int
    rebinds: int
    boots: int
    linux: Path | None
    accel: str
    jobs: int
    build: Path
    arch: str = ARCHES[0]

    @property
    def bench(self) -> Path:
        """Where the measurement lies."""
        kinds = [self.arch] * (self.arch != ARCHES[0]) + ["icount"] * (self.accel == "icount")
        return self.build / "-".join(["bench", *kinds])


def count(env: Mapping[str, str], name: str, default: int, most: int) -> int:
    """Return the variable as a number from 1 to most; Raises Fault on anything else."""
    text = env.get(name) or str(default)
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= most:
        raise Fault(f"{name}={text} is no whole number from 1 to {most}")
    return int(text)


def read(env: Mapping[str, str] = os.environ) -> Options:
    """Read the options from the environment; Raises Fault that names the bad variable."""
    size = env.get("SIZE") or "100G"
    match = re.fullmatch(r"([0-9]{1,4})G", size)
    if not match or int(match[1]) not in SIZES:
        raise Fault(f"SIZE={size} is no whole number of GiB from {SIZES[0]}G to {SIZES[-1]}G")
    accel = env.get("ACCEL") or ""
    if accel not in ("", *ACCELS):
        raise Fault(f"ACCEL={accel} is neither {' nor '.join(ACCELS)}")
    arch = env.get("ARCH") or ARCHES[0]
    if arch not in ARCHES:
        raise Fault(f"ARCH={arch} is neither {' nor '.join(ARCHES)}")
    if accel == "kvm" and arch != ARCHES[0]:
        raise Fault(f"ACCEL=kvm cannot run an {arch} guest: leave out one of the two")
    return Options(
        gib=int(match[1]),
        rebinds=count(env, "REBINDS", 30, 1000),
        boots=count(env, "BOOTS", 2, 100),
        linux=Path(env["LINUX"]).resolve() if env.get("LINUX") else None,
        accel=accel,
        jobs=count(env, "JOBS", os.cpu_count() or 1, 1024),
        build=Path(env.get("BUILD") or ROOT / "build").resolve(),
        arch=arch,
    )


def start(stage: Callable[[Options], object]) -> None:
    """Run a stage as a program, with the options of the environment and the build folder locked."""

    def framed() -> None:
        options = read()
        with locked(options.build):
            stage(options)

    main(framed)
