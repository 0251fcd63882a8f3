# SPDX-License-Identifier: GPL-2.0
"""The objects that the series touches, compiled at W=1 for each architecture, ZONE_DEVICE on and off: no warning that the base has not."""

from pathlib import Path

import pytest

from conftest import need
from checks import messages, objects
from harness import options, process, tree

CELLS = [
    pytest.param(architecture, on, id=f"{architecture.name}-{'on' if on else 'off'}")
    for architecture in objects.ARCHITECTURES
    for on in ((True, False) if architecture.zone_device else (False,))
]
SAID = """\
/b/source-x/series/mm/a.c:1:2: warning: unused variable 'i' [-Wunused-variable]
../../source-x/series/mm/a.c:7:2: warning: unused variable 'i' [-Wunused-variable]
In file included from mm/a.c:3:
Warning: /b/source-x/series/mm/a.c:9 function parameter 'n' not described in 'f'
/b/source-x/series/mm/a.c:1:2: note: here
"""


def test_warnings_are_read() -> None:
    assert messages.complaints(SAID, Path("/b/source-x/series")) == [
        "Warning: mm/a.c function parameter 'n' not described in 'f'",
        *["mm/a.c: warning: unused variable 'i' [-Wunused-variable]"] * 2,
    ]


def test_moved_messages_are_equal() -> None:
    assert messages.without_lines(["x.c:12:3: kfree: reference preceded by free on line 9"]) == ["x.c: kfree: reference preceded by free on line"]


@pytest.mark.full
@pytest.mark.parametrize(("architecture", "on"), CELLS)
def test_no_new_warning(chosen: options.Options, trees: tree.Tree, architecture: objects.Architecture, on: bool) -> None:
    need(architecture.tools.missing())
    base, series = (objects.Objects(chosen, trees, source, architecture) for source in (trees.base, trees.series))
    for kernel in (base, series):
        kernel.configure(on)
    (old, before), (new, after) = base.compile(), series.compile()
    process.say(f"{architecture.name}, ZONE_DEVICE {'on' if on else 'off'}: {len(old)} and {len(new)} objects, {len(before)} and {len(after)} warnings")
    assert set(old) <= set(new)
    assert {"mm/mm_init.o", "lib/tests/memcpy_nt_kunit.o"} <= set(new)
    # Nothing that the series touches may be compiled nowhere.
    assert len(new) == len(series.files) or (architecture, on) != (objects.X86_64, True)
    assert messages.added(before, after) == []


@pytest.mark.full
@pytest.mark.parametrize(
    ("folder", "architecture"),
    [pytest.param(folder, architecture, id=architecture.name) for folder, architecture in (*objects.SANITIZERS.items(), ("mm/kasan/", objects.FALLBACK))],
)
def test_no_new_warning_in_test_of_sanitizer(chosen: options.Options, trees: tree.Tree, folder: str, architecture: objects.Architecture) -> None:
    need(architecture.tools.missing())
    files, said = objects.touched(trees, folder), []
    for source in (trees.base, trees.series):
        kernel = objects.Objects(chosen, trees, source, architecture, files)
        kernel.configure(True)
        made, warnings = kernel.compile()
        assert files and made == [f"{file.removesuffix('c')}o" for file in files]
        said.append(warnings)
    process.say(f"{architecture.name}: {', '.join(files)}, {len(said[0])} and {len(said[1])} warnings")
    assert messages.added(*said) == []
