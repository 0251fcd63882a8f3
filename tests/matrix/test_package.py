# SPDX-License-Identifier: GPL-2.0
"""The lines of docs/package.md build a Debian package of the patched kernel."""

import re

import pytest

from harness.core import ROOT, announce, command
from harness.core.cache import remove
from harness.kernel.config import KernelConfig, configure, turn_on
from harness.kernel.source import read_version
from harness.setup import PACKAGE, find_missing
from support import Builder, need

# In place of the running kernel's. Only the series has this test.
SMALL = KernelConfig(
    "package",
    ("common",),
    (
        *turn_on("64BIT MODULES RUNTIME_TESTING_MENU"),
        "CONFIG_KUNIT=m",
        "CONFIG_MEMCPY_NT_KUNIT_TEST=m",
    ),
)


@pytest.mark.full
def test_package(builder: Builder) -> None:
    """With a small configuration; what it is to install has kernel and modules of the series."""
    need(find_missing(PACKAGE))
    text = (ROOT / "docs/package.md").read_text()
    assert f"apt-get install {' '.join(PACKAGE)}\n" in text
    folder = builder.options.build / "package"
    remove(folder)
    configure(builder.options, SMALL, builder.trees.series, folder / "small", SMALL.name)
    [lines] = re.findall(r"^    (mkdir .*bindeb-pkg)$", text, re.M | re.S)
    here = {
        "/boot/config-$(uname -r)": folder / "small/.config",
        "build/source-debian/series": builder.trees.series,
        "$PWD/build/package": folder,
        "build/package": folder,
        "$(nproc)": builder.options.jobs,
    }
    assert all(name in lines for name in here)
    lines = re.sub("|".join(map(re.escape, here)), lambda match: str(here[match[0]]), lines)
    announce("building a Debian package")
    command.run(["sh", "-ec", lines], "bindeb-pkg", log=folder.with_suffix(".log"), cwd=folder)
    [name] = re.findall(r"/(linux-image-\S+)\.deb$", text, re.M)
    [package] = folder.glob(f"{name}.deb")
    version = read_version((builder.trees.series / "Makefile").read_text())
    assert package.name.startswith(f"linux-image-{version}-memmap_{version}-")
    files = command.run(["dpkg-deb", "--contents", package], "dpkg-deb")
    modules = f"lib/modules/{version}-memmap/kernel"
    for file in (f"boot/vmlinuz-{version}-memmap", f"{modules}/lib/tests/memcpy_nt_kunit.ko"):
        assert f" ./{file}\n" in files
