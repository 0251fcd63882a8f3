# SPDX-License-Identifier: GPL-2.0
"""The inline MOVNTI that compilers emit from the series' headers on x86-64."""

from pathlib import Path

import pytest

from harness.core import ROOT
from harness.kernel.configs import CONFIGS
from harness.kernel.toolchain import compile_like_mm_init
from harness.link.disassembly import Code
from harness.link.program import MEMMAP
from support import Builder, choose, need


@pytest.mark.parametrize("name", choose(["debian", "clang"], ("debian",)))
def test_each_memcpy_flushcache_is_a_movnti(builder: Builder, tmp_path: Path, name: str) -> None:
    """On the base this fails with gcc 12, which stores the second field with a plain MOV."""
    config = CONFIGS[name]
    need(config.tools.missing())
    kernel = MEMMAP.build_objects(builder.options, builder.trees.series, name)
    toy = compile_like_mm_init(kernel.out, ROOT / "probes/flushcache.c", tmp_path / "flushcache.o")
    disassembled = Code(toy)
    code = [disassembled.code[place].name for place in disassembled.bodies["set_entry"]]
    assert code.count("movnti") == 2, code
