# SPDX-License-Identifier: GPL-2.0
"""In the VM: what the selftest must withstand, and what devices hold afterwards.

The names of the cells are those of the checks that guest/robustness calls.
"""

import pytest
from support import Lab

from checks import robustness

PLANNED = robustness.list_checks(robustness.SCRIPT)


@pytest.fixture(scope="session")
def told(lab: Lab) -> robustness.Checks:
    """The checks on the measured kernel with the series."""
    kernel, image = lab.kernel("series"), robustness.make_image(lab.options, lab.trees.series)
    return robustness.run_checks(lab.options, lab.trees.series, kernel, image)


@pytest.mark.parametrize("name", PLANNED)
def test_robustness(told: robustness.Checks, name: str) -> None:
    if why := robustness.explain_check(told, name):
        pytest.fail(why, pytrace=False)


def test_robustness_is_all(told: robustness.Checks) -> None:
    """The guest told of these checks, in their order, and of no others."""
    if why := robustness.explain_plan(told, PLANNED):
        pytest.fail(why, pytrace=False)
