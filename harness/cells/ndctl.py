# SPDX-License-Identifier: GPL-2.0
"""ndctl's own tests, those that need no simulated device: guest/peers-ndctl runs them.

Debian has the source of each ndctl, but no package with its tests.
"""

from pathlib import Path

from harness.core import Options, UserError, announce, run
from harness.core.cache import drop_others, keep, scratch
from harness.core.debian import Apt, find_codename
from harness.setup import NDCTL, find_missing
from harness.vm.userland import pack_programs

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
    folder = keep(options.build, "ndctl", [find_codename(), LIMIT, *MESON], make, files)
    drop_others(folder)
    return folder


def pack(options: Options, _: Path) -> dict[str, bytes]:
    tests = build_tests(options)
    files = pack_programs(*(tests / "made/test" / name for name in PROGRAMS))
    return files | {f"ndctl/{name}": (tests / "test" / name).read_bytes() for name in SCRIPTS}
