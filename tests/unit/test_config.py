# SPDX-License-Identifier: GPL-2.0
"""Configurations and cells: no option is in two fragments, no line vanishes."""

import re
from pathlib import Path

import pytest

from harness.core import UserError, read_options
from harness.core.architectures import ARCHITECTURES, GUESTS
from harness.kernel import config, configs
from harness.kernel.configs import CONFIGS
from harness.kernel.toolchain import Toolchain


def test_vanished_fragment_line() -> None:
    result = "CONFIG_A=y\nCONFIG_N=8\n# CONFIG_D is not set\nCONFIG_AB=y\n"
    honoured = "CONFIG_A=y\n# CONFIG_B is not set\n# a comment\nCONFIG_N=8\n"
    assert config.find_vanished(honoured, result) == []
    gone = ["# CONFIG_A is not set", "CONFIG_C=y", "CONFIG_N=64"]
    assert config.find_vanished("\n".join(gone), result) == gone


def test_debians_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another compiler may drop some of them, and they are listed; but none that matters."""
    debians, result = tmp_path / "debian", "CONFIG_HZ=250\nCONFIG_A=y\n"
    debians.write_text("CONFIG_HZ=250\nCONFIG_RUST=y\n")
    monkeypatch.setattr(config, "fetch_config", lambda _: debians)
    monkeypatch.setattr(Toolchain, "make", lambda *words: (words[3] / ".config").write_text(result))
    chosen = read_options({"BUILD": str(tmp_path)})
    wanted = config.KernelConfig("a", lines=("CONFIG_A=y",), debian=True)
    words = chosen, wanted, tmp_path, tmp_path, "a kernel"
    config.configure(*words)
    assert (tmp_path / "vanished").read_text() == "CONFIG_RUST=y\n"
    result = "CONFIG_HZ=1000\n"
    with pytest.raises(UserError, match="^CONFIG_HZ=250, CONFIG_A=y vanished"):
        config.configure(*words)


def test_no_option_stands_in_two_fragments() -> None:
    fragments: dict[str, list[str]] = {}
    for file in sorted(config.FRAGMENT_FOLDER.glob("*.config")):
        for symbol in re.findall(r"CONFIG_\w+", file.read_text()):
            fragments.setdefault(symbol, []).append(file.stem)
    assert len(fragments) > 100
    assert {symbol: files for symbol, files in fragments.items() if len(files) > 1} == {}


def test_each_guest_has_a_fragment_and_a_configuration() -> None:
    """A new architecture in the table needs both."""
    assert set(configs.BOOTED) == set(GUESTS)
    for name, booted in configs.BOOTED.items():
        assert booted.fragments[-1] == name
        assert (config.FRAGMENT_FOLDER / f"{name}.config").exists()


def test_each_architecture_is_compiled_for_and_tested() -> None:
    """An architecture must also be in the tables that depend on the table of architectures."""
    known = set(ARCHITECTURES.values())
    compiled = {target.tools.architecture for target in configs.TARGETS}
    kunits = {kernel.config.tools.architecture for kernel in configs.KUNIT_KERNELS.values()}
    kunits.add(configs.TESTED.tools.architecture)
    replayed = {config.tools.architecture for config in CONFIGS.values()}
    assert compiled == known
    assert kunits == {one for one in known if one.qemu or one.name == "um"}
    assert replayed == {one for one in known if one.library}
