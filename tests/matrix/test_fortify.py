# SPDX-License-Identifier: GPL-2.0
"""FORTIFY_SOURCE rejects a memcpy_nt() past an object's end, by the kernel's build-time tests."""

from pathlib import Path

import pytest

from harness.cells import compile
from harness.kernel import configs
from harness.kernel.config import KernelConfig
from support import Builder, choose, need

KINDS = ("read_overflow2", "read_overflow2_field", "write_overflow", "write_overflow_field")
# Of the kernel that tests boot, what its build told. The others are compiled for this test. x86-64
# has its own memcpy_nt(), and the others fall back to memcpy().
BOOTED = "booted"
TARGETS = {
    target.name: target for target in (configs.CLANG, configs.OBJECTS_I386, configs.OBJECTS_ARM64)
}


def compile_logs(builder: Builder, target: KernelConfig) -> Path:
    need(target.tools.missing())
    kernel = compile.Compilation(builder.options, builder.trees, builder.trees.series, target)
    logs = kernel.out / "lib/test_fortify"
    for old in logs.glob("*-memcpy_nt.log"):
        old.unlink()
    kernel.configure()
    kernel.make("lib/test_fortify/")
    return logs


@pytest.mark.parametrize("name", choose((BOOTED, *TARGETS), (BOOTED,)))
def test_overflow_is_rejected(builder: Builder, name: str) -> None:
    if name == BOOTED:
        logs = builder.kernel("series").find_objects() / "lib/test_fortify"
    else:
        logs = compile_logs(builder, TARGETS[name])
    texts = {
        log.name.removesuffix("-memcpy_nt.log"): log.read_text()
        for log in logs.glob("*-memcpy_nt.log")
    }
    assert sorted(texts) == sorted(KINDS)
    for kind, text in texts.items():
        assert text.startswith("ok: unsafe memcpy_nt() usage correctly detected"), f"{kind}: {text}"
