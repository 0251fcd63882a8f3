# SPDX-License-Identifier: GPL-2.0
"""Boots in which selftests of the kernel run, which others wrote: guest/peers and its kin.

The programs are built by the kernel's own Makefile, from the tree that is tested.
"""

import re
from dataclasses import replace
from pathlib import Path

from cells.boots import Boot
from cells.demotion import BOOT as DEMOTION
from harness.core import Options, announce, git, run
from harness.core.cache import drop_others, keep
from harness.kernel.config import turn_on
from harness.kernel.toolchain import Toolchain
from harness.vm.console import list_messages
from harness.vm.devices import PAIR
from harness.vm.initramfs import SELFTESTS
from harness.vm.userland import find_program, pack_programs

SCRIPTS = ("dax/dax-kmem-hotplug.sh", "memory-hotplug/mem-on-off-test.sh")
PROGRAMS = (
    *("hmm-tests", "gup_test", "thuge-gen", "hugetlb-mmap", "hugetlb-shm", "hugetlb-mremap"),
    *("hugetlb-madvise", "hugetlb_dio", "migration"),
)
# On top of what guest/demotion needs, as migration, guest/bind-pages and guest/boot-memory-large
# need probes, too. guest/boot-memory-blocks needs more CPUs than a guest has otherwise, and kdump.
CONFIG = replace(
    DEMOTION.config,
    name="peers",
    lines=(
        *turn_on("MODULES MODULE_UNLOAD SYSVIPC USERFAULTFD RUNTIME_TESTING_MENU"),
        "CONFIG_TEST_HMM=m",
        "CONFIG_NR_CPUS=32",
        *turn_on("GUP_TEST KALLSYMS_ALL X86_PMEM_LEGACY"),
        # For guest/geometries: soft-reserved memory, and NVMe with a memory buffer.
        *turn_on("EFI_STUB ACPI_HMAT EFI_SOFT_RESERVE DEV_DAX_HMEM PCI_P2PDMA BLK_DEV_NVME"),
        *turn_on("KEXEC_FILE CRASH_DUMP CRASH_HOTPLUG"),
    ),
    modules=("lib/test_hmm.ko",),
)
# Sizes and addresses may differ from boot to boot.
NUMBER = re.compile(r"(?<![\w-])(?:0x)?[0-9a-f]{4,}\b")


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


def pack_suites(options: Options, source: Path) -> dict[str, bytes]:
    """Return what guest/peers runs of the worktree source, by path in the guest."""
    files = pack_programs(find_program("bash", "tools"), *build_programs(options, source))
    # A thread of migration that is cancelled loads it.
    unwinder = Path(run(["gcc", "-print-file-name=libgcc_s.so.1"], "gcc").strip())
    files[f"lib/{unwinder.name}"] = unwinder.read_bytes()
    return files | {name: (source / SELFTESTS / name).read_bytes() for name in SCRIPTS}


def read_cases(console: str) -> list[str]:
    """Return what the checks of a boot told besides their results, without what may differ."""
    told = (line for line in list_messages(console) if line.startswith("# "))
    return [NUMBER.sub("N", line) for line in told]


# The devices are a node without memory, and a lower tier once they are system RAM.
SHORT = Boot(
    "peers,peers-gigantic",
    # KASLR could put the kernel into one of the few places for a page of 1 GiB.
    "nokaslr hugepagesz=1G hugepages=2 zdm.1G=2 zdm.each=2+ hugepagesz=2M hugepages=64",
    files=pack_suites,
    gib=4,
    devices=[replace(device, node=1) for device in PAIR],
    ram_gib=5,
    cpus=3,
    args=("-numa", "node,nodeid=1"),
    silence=600,
    # What offlining says of a page that it cannot move.
    harmless=lambda line: "page dumped because: unmovable page" in line,
)
WHOLE = replace(SHORT, scripts=f"{SHORT.scripts},peers-more", config=CONFIG)
