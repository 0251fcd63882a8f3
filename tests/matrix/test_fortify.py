# SPDX-License-Identifier: GPL-2.0
"""FORTIFY_SOURCE rejects a memcpy_nt() past an object's end, by the kernel's build-time tests."""

import pytest

from cells import compile
from support import Builder, choose, need

KINDS = ("read_overflow2", "read_overflow2_field", "write_overflow", "write_overflow_field")
# x86-64 has its own memcpy_nt(). The others fall back to memcpy().
TARGETS = {
    target.name: target for target in (compile.X86_64, compile.CLANG, compile.I386, compile.ARM64)
}


@pytest.mark.parametrize("name", choose(TARGETS, ("x86_64",)))
def test_overflow_is_rejected(builder: Builder, name: str) -> None:
    need(TARGETS[name].tools.missing())
    kernel = compile.Compilation(
        builder.options, builder.trees, builder.trees.series, TARGETS[name]
    )
    logs = kernel.out / "lib/test_fortify"
    for old in logs.glob("*-memcpy_nt.log"):
        old.unlink()
    kernel.configure()
    kernel.make("lib/test_fortify/")
    told = {
        log.name.removesuffix("-memcpy_nt.log"): log.read_text()
        for log in logs.glob("*-memcpy_nt.log")
    }
    assert sorted(told) == sorted(KINDS)
    for kind, text in told.items():
        assert text.startswith("ok: unsafe memcpy_nt() usage correctly detected"), f"{kind}: {text}"
