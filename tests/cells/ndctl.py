# SPDX-License-Identifier: GPL-2.0
"""The boot in which ndctl's own tests run: those that need no simulated device (guest/peers-ndctl).

Debian has the source of each ndctl, but no package with its tests.
"""

import shutil
from pathlib import Path

from cells import boot_memory, peers
from cells.boots import Boot
from harness.core import Options, announce, run
from harness.core.cache import drop_others, keep, scratch
from harness.core.debian import Apt, find_codename
from harness.vm.userland import find_program, pack_programs

TOOLS = ("bash", "jq", "mkfs.ext4", "mountpoint", "sort", "trace-cmd")
PROGRAMS = ("dax-dev", "dax-pmd", "device-dax")
SCRIPTS = ("align.sh", "common", "dax-ext4.sh", "daxctl-devices.sh", "sub-section.sh")
# The programs get libraries of their own version, and what they do not need is not built.
MESON = (
    *("-Ddefault_library=static", "-Dtest=enabled", "-Ddestructive=enabled"),
    *(f"-D{name}=disabled" for name in ("asciidoctor", "docs", "libtracefs", "systemd")),
)
# Reading a mapping for longer shows that it is not cached, but here the CPU is emulated.
LIMIT = "> VERIFY_TIME(align)"


def missing() -> list[str]:
    return [name for name in ("meson", "jq", "trace-cmd") if not shutil.which(name)]


def build_tests(options: Options) -> Path:
    """Return the folder with ndctl's source and, under made/, its test programs.

    Raises NotOffered when Debian's archives have no source of ndctl.
    """

    def make(new: Path) -> None:
        new.mkdir()
        with scratch(options.build / "apt.tmp") as fetched:
            packed = Apt(fetched).fetch_source("ndctl", [find_codename(), "stable", "testing"])
            run(["tar", "-xf", packed, "-C", new, "--strip-components=1"], f"unpacking {packed}")
        announce("building ndctl's tests")
        source = new / "test/device-dax.c"
        text = source.read_text()
        assert LIMIT in text
        source.write_text(text.replace(LIMIT, LIMIT.replace("> ", "> 100 * ")))
        run(["meson", "setup", new / "made", new, *MESON], "meson for ndctl")
        targets = [f"test/{name}" for name in PROGRAMS]
        run(["ninja", "-C", new / "made", *targets], "building ndctl's tests")

    kept = keep(options.build, "ndctl", MESON, make)
    drop_others(kept)
    return kept


def pack_tests(options: Options, _: Path) -> dict[str, bytes]:
    tests = build_tests(options)
    programs = [tests / "made/test" / name for name in PROGRAMS]
    files = pack_programs(*map(find_program, TOOLS), *programs)
    return files | {f"ndctl/{name}": (tests / "test" / name).read_bytes() for name in SCRIPTS}


# The device of e820 has 3 GiB, and the NVDIMM 7 GiB without its labels.
BOOT = Boot(
    "peers-ndctl",
    f"memmap=3G!5G {boot_memory.QUICK}",
    peers.CONFIG,
    files=pack_tests,
    args=(
        *("-m", "slots=1,maxmem=16G", "-object", "memory-backend-ram,id=m,size=7170M,reserve=off"),
        *("-device", "nvdimm,memdev=m,label-size=2M"),
    ),
    ram_gib=7,
    silence=600,
)
