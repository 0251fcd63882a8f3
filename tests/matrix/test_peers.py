# SPDX-License-Identifier: GPL-2.0
"""In the VM: selftests that others wrote pass, and tell the same of base and series."""

import pytest

from cells import peers
from harness.kernel.config import MEASURED, KernelConfig
from support import Builder, fail_if, need

pytestmark = pytest.mark.full


def run(builder: Builder, scripts: str, config: KernelConfig) -> None:
    need(peers.missing())
    told = {}
    for name in ("base", "series"):
        kernel = builder.kernel(name, config)
        why, told[name] = peers.run_suites(builder.options, builder.trees.series, kernel, scripts)
        fail_if(why)
    assert told["base"] == told["series"]


def test_peers(builder: Builder) -> None:
    run(builder, peers.SHORT, MEASURED)


def test_peers_with_modules(builder: Builder) -> None:
    run(builder, peers.WHOLE, peers.CONFIG)
