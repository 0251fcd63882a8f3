# SPDX-License-Identifier: GPL-2.0
"""In the VM: selftests that others wrote pass, and tell the same of base and series."""

import pytest
from support import Lab, fail_if, need

from checks import peers
from harness.kernel.config import MEASURED, KernelConfig

pytestmark = pytest.mark.full


def run(lab: Lab, scripts: str, config: KernelConfig) -> None:
    need(peers.missing())
    told = {}
    for name in ("base", "series"):
        kernel = lab.kernel(name, config)
        why, told[name] = peers.run_suites(lab.options, lab.trees.series, kernel, scripts)
        fail_if(why)
    assert told["base"] == told["series"]


def test_peers(lab: Lab) -> None:
    run(lab, peers.SHORT, MEASURED)


def test_peers_with_modules(lab: Lab) -> None:
    run(lab, peers.WHOLE, peers.CONFIG)
