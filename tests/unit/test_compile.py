# SPDX-License-Identifier: GPL-2.0
"""Which objects are compiled for a target, and their warnings in a form that compares."""

from pathlib import Path

import pytest

from cells import warnings
from cells.compile import ARM64, I386, X86_64, Compilation
from harness.core import UserError, read_options
from harness.kernel.config import KernelConfig
from harness.kernel.toolchain import compile_like_mm_init
from harness.kernel.tree import Trees

SAID = """\
/b/source-x/series/mm/a.c:1:2: warning: unused variable 'i' [-Wunused-variable]
../../source-x/series/mm/a.c:7:2: warning: unused variable 'i' [-Wunused-variable]
In file included from mm/a.c:3:
mm/a.c:4:1: error: bad constant expression
Warning: /b/source-x/series/mm/a.c:9 function parameter 'n' not described in 'f'
/b/source-x/series/mm/a.c:1:2: note: here
/b/source-x/series/mm/z.c:12:3: WARNING: reference preceded by free on line 9
"""


def test_a_compiler_that_fails_is_seen(tmp_path: Path) -> None:
    """Behind it, objtool is content with an object that was there before."""
    (tmp_path / "mm").mkdir()
    command = "savedcmd_mm/mm_init.o := false -o mm/mm_init.o /x/mm/mm_init.c ; true mm/mm_init.o\n"
    (tmp_path / "mm/.mm_init.o.cmd").write_text(command)
    with pytest.raises(UserError, match="compiling shim.c"):
        compile_like_mm_init(tmp_path, Path("/x/shim.c"), tmp_path / "shim.o")


def test_warnings_are_read() -> None:
    assert warnings.find_warnings(SAID, Path("/b/source-x/series")) == [
        "Warning: mm/a.c function parameter 'n' not described in 'f'",
        "mm/a.c: error: bad constant expression",
        *["mm/a.c: warning: unused variable 'i' [-Wunused-variable]"] * 2,
        "mm/z.c: WARNING: reference preceded by free on line",
    ]


@pytest.mark.parametrize(
    ("target", "config", "objects"),
    [
        (X86_64, "CONFIG_ARCH_HAS_COPY_MC=y", "arch/x86/lib/copy_mc.o"),
        (I386, "", ""),
        (ARM64, "CONFIG_ARCH_HAS_COPY_MC=y", ""),
        (X86_64, "CONFIG_64BIT=y", "arch/x86/lib/init_64.o"),
        (X86_64, "CONFIG_RDMAVT=y", "drivers/x/qp.o"),
        (X86_64, "CONFIG_HOTPLUG=y", "drivers/x/memory_hotplug.o"),
    ],
)
def test_objects_of_a_target(
    tmp_path: Path, target: KernelConfig, config: str, objects: str
) -> None:
    """Those of other architectures are left out, and parts of an object that is not made.

    The rule of a part may be unconditional, or may have the condition.
    """
    makefiles = {
        "arch/x86/lib": "lib-$(CONFIG_ARCH_HAS_COPY_MC) += copy_mc.o\nobj-y := init_$(BITS).o\n",
        "drivers/x": """\
obj-$(CONFIG_RDMAVT) += rdmavt.o
rdmavt-y := ah.o \\
\trc.o qp.o
obj-y += memory-hotplug.o
memory-hotplug-$(CONFIG_HOTPLUG) += memory_hotplug.o
""",
    }
    files = ["arch/x86/lib/copy_mc.c", "arch/x86/lib/init_64.c"]
    files += ["drivers/x/qp.c", "drivers/x/memory_hotplug.c"]
    for folder, makefile in makefiles.items():
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "Makefile").write_text(makefile)
    for file in files:
        (tmp_path / file).touch()
    trees = Trees(tmp_path, tmp_path)
    kernel = Compilation(read_options({"BUILD": str(tmp_path)}), trees, tmp_path, target, files)
    kernel.config = {config}
    assert "".join(map(kernel.name_object, files)) == objects
