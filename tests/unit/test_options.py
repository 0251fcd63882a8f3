# SPDX-License-Identifier: GPL-2.0
"""The variables of make: which values are refused, and where a measurement goes."""

import pytest

from harness.core import errors, options


def test_measurements_do_not_mix() -> None:
    found = {
        options.read_options(words).name_result("bench")
        for words in ({}, {"ARCH": "arm64"}, {"ACCEL": "native"})
    }
    assert len(found) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("SIZE=100", "SIZE=100 must be a whole number of GiB"),
        ("SIZE=1G", "from 2G to 1024G"),
        ("REBINDS=0", "REBINDS=0 must be a whole number from 1 to 1000"),
        ("BOOTS=1.5", "BOOTS=1.5"),
        ("ACCEL=xen", "ACCEL=xen must be one of kvm, tcg, native"),
        ("ARCH=arm64 ACCEL=kvm", "ACCEL=kvm cannot run an arm64 guest"),
    ],
)
def test_bad_option(words: str, message: str) -> None:
    with pytest.raises(errors.UserError, match=message):
        options.read_options(dict(word.split("=") for word in words.split()))
