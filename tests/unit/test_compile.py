# SPDX-License-Identifier: GPL-2.0
"""Which objects a target makes of the files that the series touches."""

from pathlib import Path

import pytest

from checks.compile import ARM64, I386, X86_64, Compilation, Target
from harness.core.options import read_options
from harness.kernel.tree import Trees


@pytest.mark.parametrize(
    ("target", "config", "object"),
    [
        (X86_64, {"CONFIG_ARCH_HAS_COPY_MC=y"}, "arch/x86/lib/copy_mc.o"),
        (I386, set(), ""),
        (ARM64, {"CONFIG_ARCH_HAS_COPY_MC=y"}, ""),
    ],
)
def test_objects_of_other_architectures_are_left_out(
    tmp_path: Path, target: Target, config: set[str], object: str
) -> None:
    file = "arch/x86/lib/copy_mc.c"
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).touch()
    makefile = "lib-$(CONFIG_ARCH_HAS_COPY_MC) += copy_mc.o copy_mc_64.o\n"
    (tmp_path / "arch/x86/lib/Makefile").write_text(makefile)
    trees = Trees(tmp_path, tmp_path)
    kernel = Compilation(read_options({"BUILD": str(tmp_path)}), trees, tmp_path, target, [file])
    kernel.config = config
    assert kernel.name_object(file) == object
