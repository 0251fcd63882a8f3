# SPDX-License-Identifier: GPL-2.0
"""A compiler that fails, and warnings in a form that compares."""

from pathlib import Path

import pytest

from cells import warnings
from harness.core import UserError
from harness.kernel.toolchain import compile_like_mm_init

SAID = """\
/b/source-x/series/mm/a.c:1:2: warning: unused variable 'i' [-Wunused-variable]
../../source-x/series/mm/a.c:7:2: warning: unused variable 'i' [-Wunused-variable]
In file included from mm/a.c:3:
mm/a.c:4:1: error: bad constant expression
Warning: /b/source-x/series/mm/a.c:9 function parameter 'n' not described in 'f'
/b/source-x/series/mm/a.c:1:2: note: here
/b/source-x/series/mm/z.c:12:3: WARNING: reference preceded by free on line 9
"""


def test_a_compiler_that_fails_is_seen(tmp_path: Path) -> None:
    """Behind it, objtool is content with an object that was there before."""
    (tmp_path / "mm").mkdir()
    command = "savedcmd_mm/mm_init.o := false -o mm/mm_init.o /x/mm/mm_init.c ; true mm/mm_init.o\n"
    (tmp_path / "mm/.mm_init.o.cmd").write_text(command)
    with pytest.raises(UserError, match="compiling shim.c"):
        compile_like_mm_init(tmp_path, Path("/x/shim.c"), tmp_path / "shim.o")


def test_warnings_are_read() -> None:
    assert warnings.find_warnings(SAID, Path("/b/source-x/series")) == [
        "Warning: mm/a.c function parameter 'n' not described in 'f'",
        "mm/a.c: error: bad constant expression",
        *["mm/a.c: warning: unused variable 'i' [-Wunused-variable]"] * 2,
        "mm/z.c: WARNING: reference preceded by free on line",
    ]
