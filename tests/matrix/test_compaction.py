# SPDX-License-Identifier: GPL-2.0
"""How soon the base faults when memory goes beside compaction: told, and not judged.

That no scanner of the series does is a boot of test_boots.py.
"""

import re

import pytest

from harness.cells import boots
from harness.core import UserError, say
from support import Builder

ROUNDS = re.compile(r"zdm: # \S+: (\d+) rounds$", re.M)
FAULT = re.compile(r"RIP: \S+?:(\w+)")


@pytest.mark.full
@pytest.mark.parametrize("name", ["compaction-virtio-mem", "compaction-dax"])
def test_base(builder: Builder, name: str) -> None:
    """The boot has to get as far as compaction: it says of each round that it is over."""
    boot, kernel = boots.read_boots()[name], builder.kernel("base")
    try:
        builder.boot("base", name, boot)
    except UserError as error:
        if "complains: " not in str(error):
            raise
    console = (builder.options.build / f"{name}-{kernel.name}.log").read_text()
    assert "zdm: # " in console
    rounds, fault = len(ROUNDS.findall(console)), FAULT.search(console)
    say(f"{name}: {f'a fault in {fault[1]}' if fault else 'no fault'} after {rounds} rounds")
