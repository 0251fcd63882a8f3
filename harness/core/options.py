# SPDX-License-Identifier: GPL-2.0
"""The variables that make passes on, checked and put into one object."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.core.architectures import GUESTS
from harness.core.errors import UserError
from harness.core.folders import ROOT, check_path
from harness.core.host import count_cpus

# GiB for each device. In less, the device with 1 GiB alignment has no room for data.
SIZES = range(2, 1025)
ACCELS = ("kvm", "tcg")


@dataclass(frozen=True)
class Options:
    """What the user can choose.

    gib is the size of each device. arch is the architecture of the guest. accel is one of ACCELS.
    It is empty where the harness is to choose. peer is a folder, a commit or empty. kernel is the
    one of make shell. runs is how many processes race, and config names the configuration of their
    kernels. foreign is a file with samples of another machine.
    """

    gib: int
    rebinds: int
    linux: Path | None
    accel: str
    jobs: int
    build: Path
    arch: str = GUESTS[0]
    peer: str = ""
    kernel: str = "series"
    runs: int = 5
    config: str = "debian"
    foreign: Path | None = None

    def name_result(self, target: str) -> Path:
        """Return the folder that holds what a target of make measured in the VM."""
        return self.build / "-".join([target, *[self.arch] * (self.arch != GUESTS[0])])


def read_count(env: Mapping[str, str], name: str, default: int, most: int) -> int:
    """Return the variable as a number from 1 to most; Raises UserError on anything else."""
    text = env.get(name) or str(default)
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= most:
        raise UserError(f"{name}={text} must be a whole number from 1 to {most}")
    return int(text)


def read_choice(env: Mapping[str, str], name: str, choices: tuple[str, ...], default: str) -> str:
    """Return the variable, or default if it is empty; Raises UserError unless it is a choice."""
    text = env.get(name) or default
    if text not in (default, *choices):
        raise UserError(f"{name}={text} must be one of {', '.join(choices)}")
    return text


def read_size(env: Mapping[str, str]) -> int:
    """Return the GiB of SIZE, 100 if it is empty; Raises UserError on any other text."""
    size = env.get("SIZE") or "100G"
    match = re.fullmatch(r"([0-9]{1,4})G", size)
    if not match or int(match[1]) not in SIZES:
        least, most = SIZES[0], SIZES[-1]
        raise UserError(
            f"SIZE={size} must be a whole number of GiB from {least}G to {most}G, e.g. 100G"
        )
    return int(match[1])


def read_options(env: Mapping[str, str] = os.environ) -> Options:
    accel = read_choice(env, "ACCEL", ACCELS, "")
    arch = read_choice(env, "ARCH", GUESTS, GUESTS[0])
    if accel == "kvm" and arch != GUESTS[0]:
        raise UserError(f"ACCEL=kvm cannot run an {arch} guest: leave out ACCEL= or ARCH=")
    build = Path(env.get("BUILD") or ROOT / "build").resolve()
    check_path("BUILD", build)
    check_path("the checkout", ROOT)
    return Options(
        gib=read_size(env),
        rebinds=read_count(env, "REBINDS", 30, 1000),
        linux=Path(env["LINUX"]).resolve() if env.get("LINUX") else None,
        accel=accel,
        jobs=read_count(env, "JOBS", count_cpus(), 1024),
        build=build,
        arch=arch,
        peer=env.get("PEER") or "",
        kernel=read_choice(env, "KERNEL", ("base", "series"), "series"),
        runs=read_count(env, "RUNS", 5, 100),
        config=env.get("CONFIG") or "debian",
        foreign=Path(env["FROM"]).resolve() if env.get("FROM") else None,
    )
