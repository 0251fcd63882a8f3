# SPDX-License-Identifier: GPL-2.0
"""Boots that use memory: what boot initialised, by several command lines, and what is hot-added.

Guests of more than 4 GiB: on x86-64 and arm64 only the highest zone of a node is deferred. The
guest tells its results as KTAP, as in the robustness boots.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from checks import robustness, sanitizers
from harness.core.options import Options
from harness.core.progress import announce
from harness.kernel.config import BOOTED, MEASURED, KernelConfig
from harness.kernel.images import Kernel
from harness.kernel.tree import Trees
from harness.vm.accel import choose_accel
from harness.vm.console import is_splat, list_messages
from harness.vm.guest import Guest, boot_guest, need_memory
from harness.vm.initramfs import SELFTESTS, compile_program, make_initramfs
from harness.vm.monitor import make_monitor
from harness.vm.userland import find_program, pack_programs

# The boots of checks/parallel.py share this kernel.
DEBUG = KernelConfig("pages", (*MEASURED.fragments, "tracers", "debug", "kprobes", "pages"))
LIMIT = 1800
# Under TCG, filling GiBs of memory takes a kernel that checks each page minutes.
SILENCE = 300
MANAGED = "managed: "
# With erms, x86-64 clears a page by rep stosb, which TCG does byte by byte.
QUICK = "clearcpuid=erms"
FILL = "boot-memory,boot-memory-fill"
HOTPLUG = f"{FILL},boot-memory-hotplug"
SELFTEST = "memory-hotplug/mem-on-off-test.sh"
# What HOTPLUG adds: two DIMMs.
SLOTS = (
    "-m slots=2,maxmem=16G "
    "-object memory-backend-ram,id=dimm0-memory,size=512M,reserve=off "
    "-object memory-backend-ram,id=dimm1-memory,size=512M,reserve=off"
)
# It is empty at first. Its driver decides page by page what becomes of all memory that is onlined.
VIRTIO_MEM = (
    "-object memory-backend-ram,id=virtio-mem0-memory,size=512M,reserve=off "
    "-device virtio-mem-pci,id=virtio-mem0,memdev=virtio-mem0-memory,requested-size=0"
)


@dataclass(frozen=True)
class Boot:
    """What to boot and what to run in it.

    words are for the kernel's command line. deferred is on how many of the nodes memory is to be
    deferred, or None for all. movable is how many MiB of it are to be ZONE_MOVABLE. small is how
    many MiB to fill with small pages, or None for all. virtio_mem is whether the guest has such a
    device.
    """

    scripts: str = FILL
    words: str = ""
    config: KernelConfig = MEASURED
    ram_gib: int = 5
    nodes: int = 1
    deferred: int | None = None
    movable: int = 0
    small: int | None = None
    virtio_mem: bool = False

    def line(self) -> str:
        """Return the words for the kernel's command line, those for the scripts among them."""
        deferred = self.nodes if self.deferred is None else self.deferred
        told = f"zdm.do={self.scripts} zdm.deferred={deferred} zdm.movable={self.movable}"
        if self.small is not None:
            told += f" zdm.small={self.small}"
        return f"{told} {QUICK} {self.words}"


SHORT = Boot(HOTPLUG)
# Where KASLR puts the kernel decides whether one or two pages more are managed.
COUNT = Boot("boot-memory", "nokaslr")
CMA = f"{FILL},boot-memory-cma"
HUGETLB = f"{FILL},boot-memory-hugetlb"
PAGES = "hugepagesz=1G hugepages=1 hugepagesz=2M hugepages=700 zdm.1G=1 zdm.2M=700"
# On the measured kernel.
LINES = {
    "hotplug": Boot(f"{HOTPLUG},boot-memory-hotplug-more", virtio_mem=True),
    "kernelcore": Boot(words="kernelcore=2G", movable=3072),
    "movablecore-nodes": Boot(words="movablecore=2G", nodes=2, movable=2048),
    "movable_node": Boot(HOTPLUG, "movable_node"),
    "cma": Boot(CMA, "cma=512M zdm.cma=512"),
    "hugetlb": Boot(HUGETLB, PAGES),
    "hugetlb-optimised": Boot(HUGETLB, f"{PAGES} hugetlb_free_vmemmap=on"),
    "nodes": Boot(HOTPLUG, nodes=2),
}
# On a kernel that checks pages. DEBUG_VM and its kin need no word. Under TCG, a fault takes it
# 0.2 ms, and all of memory in small pages minutes.
FEW = 256
ONLINE = f"{HOTPLUG},boot-memory-online"
# The kernel's own test tries to offline boot memory, too, which this refuses.
REFUSED = "page dumped because: unmovable page"
DEBUGGED = {
    "online": Boot(ONLINE, "debug_pagealloc=off zdm.fills=1 zdm.cycles=20"),
    "online-poison": Boot(ONLINE, "page_poison=1 init_on_free=1 zdm.fills=1 zdm.cycles=1"),
    "online-own-memmap": Boot(
        ONLINE,
        "debug_pagealloc=off memory_hotplug.memmap_on_memory=1 zdm.own=1 zdm.fills=1 zdm.cycles=1",
    ),
    "online-virtio-mem": Boot(
        ONLINE, "debug_pagealloc=off zdm.fills=0 zdm.cycles=1", virtio_mem=True
    ),
    "early_page_ext": Boot(words="early_page_ext page_owner=on", deferred=0),
    "debug_pagealloc": Boot(words="debug_pagealloc=on"),
    "no-debug_pagealloc": Boot(words="debug_pagealloc=off check_pages=1"),
    "init": Boot(HOTPLUG, "debug_pagealloc=off init_on_alloc=1 init_on_free=1"),
    "page_poison": Boot(words="debug_pagealloc=off page_poison=1"),
    "page_owner": Boot(words="debug_pagealloc=off page_owner=on page_table_check=on"),
    "mem_profiling": Boot(words="debug_pagealloc=off sysctl.vm.mem_profiling=1"),
    "all": Boot(
        words="debug_pagealloc=on init_on_alloc=1 init_on_free=1 page_owner=on "
        "page_table_check=on sysctl.vm.mem_profiling=1"
    ),
}
BOOTS = {
    "short": SHORT,
    **LINES,
    **{name: replace(boot, config=DEBUG, small=FEW) for name, boot in DEBUGGED.items()},
    "arm64": Boot(config=BOOTED["arm64"]),
}
# KMSAN excludes deferred initialisation, and takes two pages of metadata for each page.
SANITIZED = {
    "kasan-ubsan": Boot(small=FEW),
    # debug_pagealloc would take minutes for each GiB.
    "kcsan-debug": Boot(words="debug_pagealloc=off", small=FEW),
    "kmsan": Boot(ram_gib=8, deferred=0, small=FEW),
}


def make_image(options: Options, source: Path) -> Path:
    """Return the initramfs with guest/fill.c, and on x86-64 the kernel's own test of hotplug."""
    more = compile_program(options, "fill")
    if options.arch == "x86_64":
        more |= pack_programs(find_program("bash"))
        more[SELFTEST] = (source / SELFTESTS / SELFTEST).read_bytes()
    return make_initramfs(options, source, "boot-memory", more)


def boot_memory(
    options: Options, kernel: Kernel, initramfs: Path, name: str, boot: Boot
) -> tuple[str, Path]:
    """Boot once and return the console's text and its log.

    Raises UserError as boot_guest() does.
    """
    need_memory(0, (), boot.ram_gib)
    log = options.build / f"boot-memory-{name}-{kernel.name}.log"
    slots = SLOTS.split() if boot.scripts.startswith(HOTPLUG) else []
    slots += VIRTIO_MEM.split() if boot.virtio_mem else []
    accel = choose_accel(options, kernel, initramfs)
    announce(f"boot memory: {name}, {kernel.name}")
    with make_monitor() as monitor:
        guest = Guest(
            kernel,
            initramfs,
            accel,
            words=boot.line(),
            ram_gib=boot.ram_gib,
            nodes=boot.nodes,
            args=("-serial", "stdio", *monitor.args, *slots),
        )

        def progress(spoken: str) -> None:
            monitor.obey(spoken)
            robustness.say_result(spoken)

        def is_fault(line: str) -> bool:
            return is_splat(line) and not (boot.scripts == ONLINE and REFUSED in line)

        return boot_guest(guest, log, progress, LIMIT, SILENCE, is_fault), log


def boot_sanitized(
    options: Options, kernel: Kernel, trees: Trees, initramfs: Path, boot: Boot
) -> tuple[str, Path]:
    """Do the same with a kernel of checks/sanitizers.py, whose reports are faults."""
    checker = sanitizers.CHECKERS[kernel.name.partition("+")[2]]
    checker = replace(checker, ram_gib=boot.ram_gib, gib=0)
    announce(f"boot memory: {kernel.name}")
    return checker.boot(options, kernel, trees, initramfs, "memory", boot.line())


def read_managed(console: str) -> int:
    """Return the number of managed pages that a guest told of."""
    [told] = [line for line in list_messages(console) if line.startswith(MANAGED)]
    return int(told.removeprefix(MANAGED))
