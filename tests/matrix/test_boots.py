# SPDX-License-Identifier: GPL-2.0
"""In the VM: each boot that a script of guest/ asks for passes its checks.

Where base and series both boot in one cell, their checks tell the same.
"""

import pytest

from harness.cells import boots
from harness.core.debian import NotOffered
from support import Builder, choose, need

CELLS = boots.list_cells(boots.read_boots())
SHORT = [name for name, cell in CELLS.items() if cell.boot.in_make_test]


@pytest.mark.parametrize("name", choose(CELLS, SHORT))
def test_boot(builder: Builder, name: str) -> None:
    cell = CELLS[name]
    need(cell.boot.missing())
    try:
        consoles = [builder.check(side, cell.name, cell.boot) for side in cell.sides]
    except NotOffered as error:
        pytest.skip(str(error))
    first, *others = map(boots.read_cases, consoles)
    # Boots that are compared tell something.
    assert not others or first
    assert all(other == first for other in others)
