# SPDX-License-Identifier: GPL-2.0
"""What the series touches compiles without a new warning with W=1, on each architecture."""

import pytest

from harness.cells import compile
from harness.kernel import configs
from harness.kernel.config import KernelConfig
from support import Builder, need

X86_64 = configs.add_zone_device(configs.OBJECTS_X86_64)
CELLS = [
    pytest.param(config, id=f"{one.name}-{kind}")
    for one in configs.TARGETS
    for kind, config in {"on": configs.add_zone_device(one), "off": one}.items()
    if kind == "off" or config != one
]


@pytest.mark.full
@pytest.mark.parametrize("config", CELLS)
def test_no_new_warning(builder: Builder, config: KernelConfig) -> None:
    need(config.tools.missing())
    old, new, added = compile.compile_both(builder.options, builder.trees, config)
    assert added == []
    assert set(old) <= set(new)
    assert {"mm/mm_init.o", "mm/page_alloc.o", "lib/tests/memcpy_nt_kunit.o"} <= set(new)
    # x86-64 with ZONE_DEVICE must compile every file that the series touches but other machines'.
    files = [*compile.list_touched(builder.trees), *compile.USERS]
    here = [file for file in files if file.startswith("arch/x86/") or file[:5] != "arch/"]
    assert len(new) == len(here) or config != X86_64


@pytest.mark.full
@pytest.mark.parametrize(
    ("folder", "config"),
    [pytest.param(*one, id=one[1].name) for one in configs.SANITIZERS],
)
def test_no_new_warning_in_test_of_sanitizer(
    builder: Builder, folder: str, config: KernelConfig
) -> None:
    files = compile.list_touched(builder.trees, folder)
    objects = [f"{file.removesuffix('c')}o" for file in files]
    need(config.tools.missing())
    compiled = compile.compile_both(
        builder.options, builder.trees, configs.add_zone_device(config), files
    )
    assert objects and compiled == (objects, objects, [])
