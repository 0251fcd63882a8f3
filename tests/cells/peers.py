# SPDX-License-Identifier: GPL-2.0
"""Suites that others wrote, run in the guest: selftests of the kernel, and what they told.

The programs are built by the kernel's own Makefile, from the tree that is tested.
"""

import re
from dataclasses import replace
from pathlib import Path

from cells import boots
from harness.core.cache import drop_others, keep
from harness.core.command import git, run
from harness.core.options import Options
from harness.core.progress import announce
from harness.kernel.config import MEASURED
from harness.kernel.images import Kernel
from harness.kernel.toolchain import Toolchain
from harness.vm.console import list_messages
from harness.vm.devices import PAIR
from harness.vm.initramfs import SELFTESTS
from harness.vm.userland import find_program, pack_programs

SCRIPTS = ("dax/dax-kmem-hotplug.sh", "memory-hotplug/mem-on-off-test.sh", "mm/test_hmm.sh")
PROGRAMS = (
    *("hmm-tests", "gup_test", "thuge-gen", "hugetlb-mmap", "hugetlb-shm", "hugetlb-mremap"),
    *("hugetlb-madvise", "hugetlb_dio", "hugetlb_fault_after_madv", "hugetlb_madv_vs_map"),
    "migration",
)
CONFIG = replace(
    MEASURED,
    name="peers",
    lines=(
        "CONFIG_MODULES=y",
        "CONFIG_MODULE_UNLOAD=y",
        "CONFIG_SYSVIPC=y",
        "CONFIG_USERFAULTFD=y",
        "CONFIG_RUNTIME_TESTING_MENU=y",
        "CONFIG_TEST_HMM=m",
        "CONFIG_GUP_TEST=y",
        "CONFIG_NUMA_MIGRATION=y",
    ),
    modules=("lib/test_hmm.ko",),
)

SHORT, WHOLE = "peers", "peers,peers-more"
BOOT = boots.Boot(
    words="hugepagesz=1G hugepages=2 hugepagesz=2M hugepages=64",
    gib=4,
    devices=PAIR,
    ram_gib=5,
    silence=600,
    # What offlining says of a page that it cannot move.
    harmless=lambda line: "page dumped because: unmovable page" in line,
)
# Sizes and addresses may differ from boot to boot.
NUMBER = re.compile(r"(?<![\w-])(?:0x)?[0-9a-f]{4,}\b")


def missing() -> list[str]:
    """Return what is not installed, of what the suites need."""
    return [] if Path("/usr/include/numa.h").exists() else ["libnuma-dev"]


def build_programs(options: Options, source: Path) -> list[Path]:
    """Return the selftests of mm, built from the worktree source."""

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


def pack_suites(options: Options, source: Path, kernel: Kernel) -> dict[str, bytes]:
    """Return what guest/peers runs of the worktree source, by path in the guest."""
    files = pack_programs(find_program("bash", "tools"), *build_programs(options, source))
    files["mm/hmm-tests"] = files.pop("bin/hmm-tests")
    files |= {name: (source / SELFTESTS / name).read_bytes() for name in SCRIPTS}
    modules = [kernel.image.with_name(Path(name).name) for name in CONFIG.modules]
    folder = f"lib/modules/{kernel.release}"
    return files | {f"{folder}/{file.name}": file.read_bytes() for file in modules if file.exists()}


def run_suites(options: Options, source: Path, kernel: Kernel, scripts: str) -> tuple[str, str]:
    """Boot once; return why it was not as planned, empty if it was, and what the suites told.

    source is the worktree with the suites.
    """
    boot = replace(
        BOOT, scripts=scripts, files=lambda options, source: pack_suites(options, source, kernel)
    )
    console, log = boots.boot_once(options, source, kernel, "peers", boot)
    told = [line for line in list_messages(console) if line.startswith("# ")]
    return boots.explain(source, console, log, scripts), "\n".join(
        NUMBER.sub("N", line) for line in told
    )
