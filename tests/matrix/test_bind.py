# SPDX-License-Identifier: GPL-2.0
"""In the VM, devices are bound and unbound in every way, and all memory comes back."""

import dataclasses
import re
from typing import Any

import pytest

from cells import boot_memory, boots, peers
from harness.kernel.config import turn_on
from support import Builder, boot_both, choose, fail_if

ASKED = turn_on("X86_PMEM_LEGACY FAULT_INJECTION FAULT_INJECTION_DEBUG_FS FAIL_PAGE_ALLOC")
CONFIG = dataclasses.replace(boot_memory.DEBUG, name="bind", lines=ASKED)
# Base's words on the first allocation that fails, with a stack; add_pages() warns.
TOLD = re.compile(r"Call Trace:|cut here|end trace|WARNING: .* at add_pages\+")


def cycle(
    words: str, scripts: str = "bind-cycles", nodes: int = 1, more_args: str = "", **more: Any
) -> boots.Boot:
    """Return a boot with NVDIMMs in a row: behind the first one, each two share a section."""
    args = "-m slots=5,maxmem=16G"
    for number, size in enumerate(("2G", "64M", "64M", "100M", "28M")):
        args += f" -object memory-backend-ram,id=memory{number},size={size},reserve=off"
        args += f" -device nvdimm,id=nvdimm{number},memdev=memory{number},node={nodes - 1}"
    words += f" {boot_memory.QUICK}"
    return boots.Boot(scripts, words, nodes=nodes, args=f"{args} {more_args}".split(), **more)


BOOTS = {
    "short": cycle("zdm.rounds=2"),
    "four-levels": cycle("zdm.rounds=3 no5lvl init_on_alloc=1"),
    "rebinds": cycle("zdm.rounds=20 init_on_alloc=1 memory_hotplug.memmap_on_memory=Y", cpus=4),
    "debug": cycle(
        "zdm.rounds=1 debug_pagealloc=off init_on_alloc=1 memmap=1000M!6G",
        "bind-cycles,bind-fails",
        nodes=2,
        config=CONFIG,
        ram_gib=6,
        silence=600,
        harmless=lambda line: bool(TOLD.search(line)),
    ),
}
# The kernel with probes.
PAGES = cycle(
    "zdm.rounds=1 memmap=1000M!6G,2M!7G,2M!7172M memory_hotplug.memmap_on_memory=Y",
    "bind-cycles,bind-pages",
    config=peers.CONFIG,
    ram_gib=6,
    more_args=boot_memory.VIRTIO_MEM.replace("512M", "1G"),
)


# What one more kernel's patch (Harry Yoo's) would save: counted, not changed.
SYNCS = cycle("zdm.rounds=0", "bind-cycles,bind-syncs", config=peers.CONFIG, ram_gib=6)


@pytest.mark.parametrize("name", choose(BOOTS, ["short"]))
def test_bind(builder: Builder, name: str) -> None:
    builder.check("series", f"bind-{name}", BOOTS[name])


@pytest.mark.full
def test_struct_pages(builder: Builder) -> None:
    boot_both(builder, "bind-pages", PAGES)


@pytest.mark.full
def test_syncs(builder: Builder) -> None:
    builder.check("series", "bind-syncs", SYNCS)


@pytest.mark.full
def test_bind_with_kasan(builder: Builder) -> None:
    boot = cycle("zdm.rounds=1")
    told = builder.boot_checked("kasan-ubsan", "bind", boot)
    fail_if(boots.judge(*told))
