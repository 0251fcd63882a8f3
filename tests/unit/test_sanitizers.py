# SPDX-License-Identifier: GPL-2.0
"""The KTAP line that lets a control pass."""

import pytest

from checks import sanitizers


@pytest.mark.parametrize(
    ("line", "passed"),
    [
        ("[    6.738983]         ok 1 threads=2", True),
        ("[    6.738983]         not ok 1 threads=2", False),
        ("[    6.738983]         ok 1 threads=8 # SKIP not enough CPUs", False),
        ("[    6.738983]     ok 1 test_memcpy_nt", False),
    ],
)
def test_passed_once(line: str, passed: bool) -> None:
    assert (
        sanitizers.has_passed_once(f"[    6.7]         # threads=1\n{line}\n[    6.8] done\n")
        is passed
    )
