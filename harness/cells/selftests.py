# SPDX-License-Identifier: GPL-2.0
"""Programs of the kernel's selftests, which others wrote: guest/peers and its kin run them.

They are built by the kernel's own Makefile, from the tree of the series, for the base, too.
"""

from pathlib import Path

from harness.core import Options, announce, git, run
from harness.core.cache import drop_others, keep
from harness.kernel.toolchain import Toolchain
from harness.vm.initramfs import SELFTESTS
from harness.vm.userland import pack_programs

PROGRAMS = (
    *("hmm-tests", "gup_test", "thuge-gen", "hugetlb-mmap", "hugetlb-shm", "hugetlb-mremap"),
    *("hugetlb-madvise", "hugetlb_dio", "migration"),
)


def missing() -> list[str]:
    return [] if Path("/usr/include/numa.h").exists() else ["libnuma-dev"]


def build_programs(options: Options, source: Path) -> list[Path]:
    def make(new: Path) -> None:
        announce("building selftests of mm")
        (new / "headers").mkdir(parents=True)
        Toolchain().make(options, source, new / "headers", "installing headers", "headers")
        words = (f"OUTPUT={new}", f"KHDR_INCLUDES=-isystem {new}/headers/usr/include")
        targets = [f"{new}/{name}" for name in PROGRAMS]
        run(["make", "-s", "-C", source / SELFTESTS / "mm", *words, *targets], "building selftests")

    tree = git(source, "rev-parse", f"HEAD:{SELFTESTS}")
    kept = keep(options.build, "selftests", [tree], make, PROGRAMS)
    drop_others(kept)
    return [kept / name for name in PROGRAMS]


def pack(options: Options, source: Path) -> dict[str, bytes]:
    """Return what guest/peers runs of the worktree source, by path in the guest."""
    files = pack_programs(*build_programs(options, source))
    # A thread of migration that is cancelled loads it.
    unwinder = Path(run(["gcc", "-print-file-name=libgcc_s.so.1"], "gcc").strip())
    return files | {f"lib/{unwinder.name}": unwinder.read_bytes()}
