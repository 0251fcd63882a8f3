# SPDX-License-Identifier: GPL-2.0
"""In the VM: selftests that others wrote pass, and tell the same of base and series."""

import pytest

from cells import ndctl, peers
from harness.core.debian import NotOffered
from support import Builder, boot_both, need


def test_peers(builder: Builder) -> None:
    need(peers.missing())
    builder.check("series", "peers", peers.SHORT)


@pytest.mark.full
def test_peers_tell_the_same(builder: Builder) -> None:
    need(peers.missing())
    boot_both(builder, "peers-more", peers.WHOLE)


@pytest.mark.full
def test_ndctl_tests(builder: Builder) -> None:
    need(ndctl.missing())
    try:
        for side in ("base", "series"):
            builder.check(side, "peers-ndctl", ndctl.BOOT)
    except NotOffered as error:
        pytest.skip(str(error))
