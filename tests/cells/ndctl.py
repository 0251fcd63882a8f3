# SPDX-License-Identifier: GPL-2.0
"""The boot in which ndctl's own tests run: those that need no simulated device (guest/peers-ndctl).

Debian has the source of each ndctl, but no package with its tests.
"""

from pathlib import Path

from cells import boot_memory, peers
from cells.boots import Boot
from harness.core import Options, UserError, announce, run
from harness.core.cache import drop_others, keep, scratch
from harness.core.debian import Apt, find_codename
from harness.setup import NDCTL, find_missing
from harness.vm.userland import find_program, pack_programs

TOOLS = ("bash", "jq", "mkfs.ext4", "mountpoint", "sort", "trace-cmd")
PROGRAMS = ("dax-dev", "dax-pmd", "device-dax")
SCRIPTS = ("align.sh", "common", "dax-ext4.sh", "daxctl-devices.sh", "sub-section.sh")
# Link ndctl's own libraries statically, and build no documentation.
MESON = (
    *("-Ddefault_library=static", "-Dtest=enabled", "-Ddestructive=enabled"),
    *(f"-D{name}=disabled" for name in ("asciidoctor", "docs", "libtracefs", "systemd")),
)
# device-dax takes a mapping that is read slowly for an uncached one. An emulated CPU is slow.
LIMIT = "> VERIFY_TIME(align)"


def missing() -> list[str]:
    return find_missing(NDCTL)


def build_tests(options: Options) -> Path:
    """Return the folder with ndctl's source and, under made/, its test programs.

    Raises NotOffered when apt has no Debian archive. Raises UserError as Apt.fetch_source() does.
    """

    def make(new: Path) -> None:
        new.mkdir()
        with scratch(options.build / "apt.tmp") as fetched:
            packed = Apt(fetched).fetch_source("ndctl", [find_codename(), "stable", "testing"])
            run(["tar", "-xf", packed, "-C", new, "--strip-components=1"], f"unpacking {packed}")
        announce("building ndctl's tests")
        source = new / "test/device-dax.c"
        text = source.read_text()
        if LIMIT not in text:
            raise UserError(f"{source} lacks '{LIMIT}': change LIMIT in {__file__}")
        source.write_text(text.replace(LIMIT, LIMIT.replace("> ", "> 100 * ")))
        run(["meson", "setup", new / "made", new, *MESON], "meson for ndctl")
        targets = [file.removeprefix("made/") for file in files]
        run(["ninja", "-C", new / "made", *targets], "building ndctl's tests")

    files = [f"made/test/{name}" for name in PROGRAMS]
    kept = keep(options.build, "ndctl", [find_codename(), LIMIT, *MESON], make, files)
    drop_others(kept)
    return kept


def pack_tests(options: Options, _: Path) -> dict[str, bytes]:
    tests = build_tests(options)
    programs = [tests / "made/test" / name for name in PROGRAMS]
    files = pack_programs(*(find_program(name, "tools-all") for name in TOOLS), *programs)
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
