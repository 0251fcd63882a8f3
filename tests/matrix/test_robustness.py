# SPDX-License-Identifier: GPL-2.0
"""In the VM: what the selftest must withstand, and what devices hold afterwards.

The names of the cells are those of the checks that guest/robustness calls.
"""

import pytest

from cells import boots
from support import Builder, fail_if

PLANNED = boots.list_checks(boots.ROBUSTNESS.scripts)


@pytest.fixture(scope="session")
def told(builder: Builder) -> dict[str, str]:
    """Why checks did not pass on the measured kernel with the series."""
    console = builder.boot("series", "robustness", boots.ROBUSTNESS)
    return boots.judge(builder.trees.series, *console, PLANNED)


# The last cell: the guest told of these checks, in their order, and of no others.
@pytest.mark.parametrize("name", [*PLANNED, boots.PLAN])
def test_robustness(told: dict[str, str], name: str) -> None:
    fail_if(told[name])
