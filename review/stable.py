# SPDX-License-Identifier: GPL-2.0
"""Apply the series to the stable kernel of its base, 7.3.y, as Debian has it."""

from pathlib import Path

from cells.compile import X86_64, Compilation, add_zone_device
from harness.core import Options, announce, git, need_disk
from harness.core.cache import replace, scratch
from harness.core.debian import Apt
from harness.kernel import source
from harness.kernel.tree import Trees, apply_patch, open_scratch

# Not experimental, which has the base.
SUITES = ("sid", "trixie-backports")


def check_stable(options: Options, trees: Trees, patches: list[Path]) -> list[str]:
    """Apply the patches to the stable kernel, and return the warnings of what they touch there.

    It is fetched into build/source-stable once. Raises NotOffered when Debian no longer has it.
    """
    folder = options.build / "source-stable"
    if not folder.exists():
        need_disk(options.build, source.DISK_GIB, f"the stable {source.PACKAGE}")
        with scratch(options.build / "apt.tmp") as fetched, replace(folder) as new:
            new.mkdir()
            source.unpack_package(Apt(fetched), new / "base", source.PACKAGE, SUITES)
    release = source.read_version((folder / "base/Makefile").read_text())
    announce(f"applying the series to {release}")
    with open_scratch(folder / "base", folder / "stable") as where:
        for patch in patches:
            apply_patch(where, patch, advice="rebase it")
        git(where, "sparse-checkout", "disable")
        announce(f"compiling the touched objects on {release}")
        made, warnings = Compilation(options, trees, where, add_zone_device(X86_64)).compile()
    return warnings if "mm/mm_init.o" in made else [*warnings, "mm/mm_init.o was not built"]
