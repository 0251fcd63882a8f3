# SPDX-License-Identifier: GPL-2.0
"""The kernels that are kept."""

from pathlib import Path

import pytest

from harness.core import options
from harness.core.architectures import get_machine
from harness.kernel import images, toolchain


def test_kernel_of_which_a_part_is_missing(
    toy: Path, toy_options: options.Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier version of the harness, which kept other files, may have left it."""
    made = []

    def make(
        _: toolchain.Toolchain,
        _options: options.Options,
        _source: Path,
        objects: Path,
        what: str,
        *_args: str,
        **_more: object,
    ) -> str:
        made.append(what)
        for name in (get_machine("x86_64").image, *images.KEPT):
            (objects / name).parent.mkdir(parents=True, exist_ok=True)
            (objects / name).write_text("made")
        return ""

    monkeypatch.setattr(images, "configure", lambda *_: None)
    monkeypatch.setattr(toolchain.Toolchain, "make", make)
    for _ in range(2):
        kernel = images.build_kernel(toy_options, "base", toy)
    assert len(made) == 1
    kernel.image.unlink()
    assert images.build_kernel(toy_options, "base", toy).image.read_text() == "made"
    assert len(made) == 2
