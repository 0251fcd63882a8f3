# SPDX-License-Identifier: GPL-2.0
"""The lists of what make test runs."""

import runpy

from support import SHORT_LISTS

from harness.core import folders


def test_short_lists_name_cells() -> None:
    """A name that matches nothing would take its cell out of make test in silence."""
    for path in (folders.ROOT / "tests/matrix").glob("test_*.py"):
        runpy.run_path(str(path))
    assert SHORT_LISTS
    assert {name for short, names in SHORT_LISTS.items() for name in short - names} == set()
