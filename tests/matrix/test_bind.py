# SPDX-License-Identifier: GPL-2.0
"""In the VM, devices are bound and unbound in every way, and all memory comes back."""

import dataclasses
from typing import Any

import pytest
from support import Lab, choose, fail_if

from checks import boot_memory, boots, sanitizers

CYCLES = "bind,bind-cycles"
LINES = ("X86_PMEM_LEGACY", "FAULT_INJECTION", "FAULT_INJECTION_DEBUG_FS", "FAIL_PAGE_ALLOC")
CONFIG = dataclasses.replace(
    boot_memory.DEBUG, name="bind", lines=tuple(f"CONFIG_{line}=y" for line in LINES)
)
CHECKED: Any = {"config": CONFIG, "silence": 600}
QUIET = "debug_pagealloc=off init_on_alloc=1"


def plug(*sizes: str, node: int = 0) -> list[str]:
    """Return QEMU's arguments for NVDIMMs; they lie behind each other."""
    args = f"-m slots={len(sizes)},maxmem=16G".split()
    for number, size in enumerate(sizes):
        args += ["-object", f"memory-backend-ram,id=memory{number},size={size},reserve=off"]
        args += ["-device", f"nvdimm,id=nvdimm{number},memdev=memory{number},node={node}"]
    return args


def cycle(words: str, nodes: int = 1, scripts: str = CYCLES, **more: Any) -> boots.Boot:
    """Return a boot that binds a device of 2 GiB and two of 64 MiB."""
    args = {"args": plug("2G", "64M", "64M", node=nodes - 1), **more}
    return boots.Boot(scripts, f"{boot_memory.QUICK} {words}", nodes=nodes, **args)


BOOTS = {
    "short": cycle("zdm.rounds=2"),
    # QEMU's CPU has five levels if nothing is said.
    "four-levels": cycle("zdm.rounds=3 no5lvl init_on_alloc=1"),
    "nodes": cycle(f"zdm.rounds=2 {QUIET}", 2, **CHECKED),
    # vmemmap_alloc_block() shows the stack of the first allocation that fails.
    "fails": cycle(
        f"zdm.rounds=1 {QUIET}",
        scripts=f"{CYCLES},bind-fails",
        harmless=lambda line: "Call Trace:" in line,
        **CHECKED,
    ),
    "early": cycle(
        f"zdm.rounds=20 {QUIET} memmap=1000M!6G",
        *(1, "bind,bind-early"),
        ram_gib=6,
        args=(),
        **CHECKED,
    ),
    "rebinds": cycle("zdm.rounds=20 init_on_alloc=1", cpus=4),
}


@pytest.mark.parametrize("name", choose(BOOTS, ["short"]))
def test_bind(lab: Lab, name: str) -> None:
    kernel = lab.kernel("series", BOOTS[name].config)
    fail_if(boots.check(lab.options, lab.trees.series, kernel, f"bind-{name}", BOOTS[name]))


@pytest.mark.full
def test_bind_with_kasan(lab: Lab) -> None:
    checker, boot = sanitizers.CHECKERS["kasan-ubsan"], cycle("zdm.rounds=1")
    kernel = lab.kernel("series", checker.config)
    told = sanitizers.boot_checked(lab.options, checker, kernel, lab.trees, "bind", boot)
    fail_if(boots.explain(lab.trees.series, *told, boot.scripts))
