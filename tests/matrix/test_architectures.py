# SPDX-License-Identifier: GPL-2.0
"""What the series touches compiles without a new warning with W=1, on each architecture."""

import pytest
from support import need

from checks import compile, warnings
from harness.core import options, progress
from harness.kernel import tree

CELLS = [
    pytest.param(architecture, on, id=f"{architecture.name}-{'on' if on else 'off'}")
    for architecture in compile.TARGETS
    for on in ((True, False) if architecture.zone_device else (False,))
]


@pytest.mark.full
@pytest.mark.parametrize(("architecture", "on"), CELLS)
def test_no_new_warning(
    chosen: options.Options, trees: tree.Trees, architecture: compile.Target, on: bool
) -> None:
    need(architecture.config.missing())
    base, series = (
        compile.Compilation(chosen, trees, source, architecture)
        for source in (trees.base, trees.series)
    )
    (old, before), (new, after) = base.compile(on), series.compile(on)
    progress.say(
        f"{architecture.name}, ZONE_DEVICE {'on' if on else 'off'}: "
        f"{len(old)} and {len(new)} objects, {len(before)} and {len(after)} warnings"
    )
    assert set(old) <= set(new)
    assert {"mm/mm_init.o", "mm/page_alloc.o", "lib/tests/memcpy_nt_kunit.o"} <= set(new)
    # x86-64 with ZONE_DEVICE must compile every file that the series touches.
    assert len(new) == len(series.files) or (architecture, on) != (compile.X86_64, True)
    assert warnings.find_added(before, after) == []


@pytest.mark.full
@pytest.mark.parametrize(
    ("folder", "architecture"),
    [
        pytest.param(folder, architecture, id=architecture.name)
        for folder, architecture in (*compile.SANITIZERS.items(), ("mm/kasan/", compile.FALLBACK))
    ],
)
def test_no_new_warning_in_test_of_sanitizer(
    chosen: options.Options, trees: tree.Trees, folder: str, architecture: compile.Target
) -> None:
    need(architecture.config.missing())
    files = compile.list_touched(trees, folder)
    said: list[list[str]] = []
    for source in (trees.base, trees.series):
        made, found = compile.Compilation(chosen, trees, source, architecture, files).compile()
        assert files and made == [f"{file.removesuffix('c')}o" for file in files]
        said.append(found)
    progress.say(
        f"{architecture.name}: {', '.join(files)}, {len(said[0])} and {len(said[1])} warnings"
    )
    assert warnings.find_added(*said) == []
