# SPDX-License-Identifier: GPL-2.0
"""All kernels that are built, by who uses them: what each is called and configured with."""

import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from harness.core import Options, architectures
from harness.core.architectures import ARM64, I386, LLVM, UML, X86_64, Architecture
from harness.kernel.config import FRAGMENT_FOLDER, KernelConfig, turn_off, turn_on
from harness.kernel.toolchain import Toolchain

GUEST = ("common", "zone_device", "disks", "guest")
# The kernels that the VM boots, by the value of ARCH=.
BOOTED = {
    "x86_64": KernelConfig("", (*GUEST, "fortify", "x86_64")),
    # No FORTIFY_SOURCE: it makes every file include a header that the series touches, so each
    # change to the series would compile the whole kernel again.
    "arm64": KernelConfig("arm64", (*GUEST, "arm64"), tools=Toolchain(ARM64)),
}
MEASURED = BOOTED[X86_64.name]
# What Debian switches on besides, as far as the memmap's code meets it: for a boot of its own.
LIKE_DEBIAN = replace(
    MEASURED,
    name="debian",
    lines=(
        *turn_off("HZ_1000"),
        *turn_on("HZ_250 INIT_ON_ALLOC_DEFAULT_ON PAGE_POISONING SHUFFLE_PAGE_ALLOCATOR"),
        *turn_on("NUMA_MIGRATION NUMA_BALANCING"),
        "CONFIG_NODES_SHIFT=10",
        *turn_on("RANDOMIZE_MEMORY PREEMPT_DYNAMIC JUMP_LABEL FTRACE FUNCTION_TRACER"),
        *turn_on("CPU_MITIGATIONS MITIGATION_RETPOLINE MITIGATION_RETHUNK MITIGATION_SLS"),
        *turn_on("X86_KERNEL_IBT DEBUG_LIST UBSAN UBSAN_BOUNDS UBSAN_SHIFT"),
    ),
)
# For KMSAN on top of MEASURED: with it, Kconfig has no deferred initialisation.
WITH_KMSAN = (*turn_on("KMSAN"), *turn_off("DEFERRED_STRUCT_PAGE_INIT"))

# KUnit suites, and who runs them.

# With only one node, a memmap that names node 0 by mistake would pass zone_device_memmap.
NODES = "numa=fake=2"


@dataclass(frozen=True)
class Suite:
    """A KUnit suite: its name, the fragments and the lines that configure it, its own first."""

    name: str
    fragments: tuple[str, ...]
    lines: tuple[str, ...]

    @property
    def symbol(self) -> str:
        return self.lines[0].removeprefix("CONFIG_").removesuffix("=y")


MEMCPY_NT = Suite("memcpy_nt", ("common", "kunit"), turn_on("MEMCPY_NT_KUNIT_TEST"))
# In a kernel with MEMCPY_NT, it also puts FORTIFY_SOURCE between that suite and memcpy_nt().
FORTIFY = Suite("fortify", ("common", "kunit", "fortify"), turn_on("FORTIFY_KUNIT_TEST"))
# NUMA_EMU gives it several nodes to tell apart.
MEMMAP = Suite(
    "zone_device_memmap",
    ("common", "kunit", "zone_device"),
    turn_on("ZONE_DEVICE_MEMMAP_KUNIT_TEST NUMA_EMU HUGETLBFS"),
)
# What `make review` runs at each patch, as far as the patch has it.
SUITES = (FORTIFY, MEMCPY_NT, MEMMAP)


def add_suites(name: str, suites: Iterable[Suite]) -> KernelConfig:
    """Return the measured kernel's configuration with suites, which run when it is asked to."""
    lines = tuple(line for suite in suites for line in suite.lines)
    return replace(MEASURED, name=name, fragments=(*MEASURED.fragments, "kunit"), lines=lines)


# The kernel of the series that tests boot.
TESTED = add_suites("tested", SUITES)

# Without EXPERT, Kconfig adds block devices, keyboards and more.
SMALL = turn_on("EXPERT PROC_FS SYSFS TTY")
# What each architecture needs besides on the machine that kunit.py chooses.
MACHINES = {
    # kunit.py gives a guest 1 GiB, of which 128 MiB are high memory here.
    I386: (*SMALL, *turn_on("SERIAL_8250 SERIAL_8250_CONSOLE HIGHMEM4G")),
    UML: turn_on("64BIT STDERR_CONSOLE"),
    ARM64: (*SMALL, *turn_on("SERIAL_AMBA_PL011 SERIAL_AMBA_PL011_CONSOLE")),
}


@dataclass(frozen=True)
class KunitKernel:
    """A kernel that kunit.py builds and boots, in QEMU if its architecture names one.

    lines are more of its configuration, words for its command line, args for each make.
    """

    architecture: Architecture
    suites: tuple[Suite, ...]
    lines: tuple[str, ...] = ()
    words: str = ""
    args: tuple[str, ...] = ()

    @property
    def config(self) -> KernelConfig:
        fragments = tuple(dict.fromkeys(one for suite in self.suites for one in suite.fragments))
        lines = (*MACHINES[self.architecture], *(line for one in self.suites for line in one.lines))
        name, tools = self.architecture.name, Toolchain(self.architecture)
        return KernelConfig(name, fragments, (*lines, *self.lines), tools, self.args)

    def missing(self) -> list[str]:
        qemu = self.architecture.qemu
        return self.config.tools.missing() + [qemu] * (bool(qemu) and not shutil.which(qemu))


# zone_device_memmap needs ZONE_DEVICE, which needs SPARSEMEM_VMEMMAP. i386 and UML have neither.
# On x86-64, TESTED has the suites.
KUNIT_KERNELS = {
    kernel.config.name: kernel
    for kernel in (
        # Of these only UML runs natively, so only here can a missing drain show.
        # An SMP UML needs seccomp mode. Every C file includes um.h first.
        KunitKernel(
            UML,
            (MEMCPY_NT,),
            ("CONFIG_NR_CPUS=2",),
            "ncpus=2 seccomp=on",
            (f"KCFLAGS=-include {FRAGMENT_FOLDER / 'um.h'}",),
        ),
        # Under TCG on a busy host, the kernel's check of the timer interrupt fails.
        KunitKernel(I386, (MEMCPY_NT, FORTIFY), words="no_timer_check"),
        KunitKernel(ARM64, (MEMCPY_NT, FORTIFY, MEMMAP), words=NODES),
    )
}

# Boots.

# guest/parallel needs more CPUs than a guest has otherwise, a scheduler that knows which share a
# cache, and nohz_full=.
PARALLEL = ("CONFIG_NR_CPUS=32", *turn_on("SCHED_MC NO_HZ_FULL"), *turn_off("NO_HZ_IDLE"))
# It checks pages, and has lockdep. guest/bind-fails lets allocations fail.
PAGES = KernelConfig(
    "pages",
    (*MEASURED.fragments, "tracers", "debug", "kprobes", "pages"),
    (
        *turn_on("X86_PMEM_LEGACY FAULT_INJECTION FAULT_INJECTION_DEBUG_FS FAIL_PAGE_ALLOC"),
        *PARALLEL,
    ),
)
# For what others wrote; demotion, migration, guest/bind-pages and guest/boot-memory-large need
# probes, too. guest/boot-memory-blocks needs more CPUs, and kdump, guest/plug-crash reads memory of
# a crash kernel, guest/plug-dump is one, and guest/plug-virtio-mem lets allocations fail.
PEERS = KernelConfig(
    "peers",
    (*MEASURED.fragments, "tracers", "kprobes", "demotion"),
    (
        *turn_on("MODULES MODULE_UNLOAD SYSVIPC USERFAULTFD RUNTIME_TESTING_MENU"),
        "CONFIG_TEST_HMM=m",
        "CONFIG_NR_CPUS=32",
        *turn_on("GUP_TEST KALLSYMS_ALL X86_PMEM_LEGACY"),
        # For guest/geometries: soft-reserved memory, and NVMe with a memory buffer.
        *turn_on("EFI_STUB ACPI_HMAT EFI_SOFT_RESERVE DEV_DAX_HMEM PCI_P2PDMA BLK_DEV_NVME"),
        *turn_on("KEXEC_FILE CRASH_DUMP CRASH_HOTPLUG PROC_KCORE PROC_VMCORE"),
        *turn_on("FAULT_INJECTION FAULT_INJECTION_DEBUG_FS FAIL_PAGE_ALLOC FAILSLAB"),
    ),
    modules=("lib/test_hmm.ko",),
)
# For guest/kexec: the kernel's own test of kexec handover, and what checks the pages that it frees.
KHO = KernelConfig(
    "kho",
    MEASURED.fragments,
    (
        *turn_on("KEXEC_HANDOVER KEXEC_HANDOVER_DEBUG TEST_KEXEC_HANDOVER RUNTIME_TESTING_MENU"),
        *turn_on("DEBUG_VM DEBUG_VM_PGFLAGS PAGE_OWNER"),
    ),
)
# Those with a sanitizer have both suites, and what its own suite and guest/parallel need.
# UBSAN and the debugging checks of mm and the locks share two of them.
CHECKED = (*MEASURED.fragments, "kunit", "tracers")
LINES = (*MEMCPY_NT.lines, *MEMMAP.lines, *PARALLEL, *turn_on("STACKTRACE CPUSETS"))
KMSAN = KernelConfig("kmsan", (*CHECKED, "kmsan"), (*LINES, *WITH_KMSAN), Toolchain(llvm=LLVM))

# What boots name: see guest/.
VM_KERNELS = {
    kernel.name: kernel
    for kernel in (
        TESTED,
        BOOTED["arm64"],
        PAGES,
        PEERS,
        KHO,
        KernelConfig("kasan-ubsan", (*CHECKED, "kasan", "ubsan"), LINES),
        KernelConfig("kcsan-debug", (*CHECKED, "kcsan", "debug"), LINES),
        KMSAN,
    )
}

# Objects that are only compiled: test_architectures.py.

OBJECTS = ("common", "disks", "fortify", "kunit")
EVERY_TEST = "CONFIG_KUNIT_ALL_TESTS=y"
# dm-writecache.c needs it.
WRITECACHE = "CONFIG_DM_WRITECACHE=y"


ZONE_DEVICE = "zone_device"
# ZONE_DEVICE needs SPARSEMEM_VMEMMAP. That is only for 64 bits, and UML has only FLATMEM.
WITHOUT_ZONE_DEVICE = (I386, UML)


def target(
    architecture: architectures.Architecture,
    *symbols: str,
    name: str = "",
    llvm: str = "",
    fragments: tuple[str, ...] = (),
) -> KernelConfig:
    """Return a configuration to compile for, with fragments and symbols on top of OBJECTS."""
    asked = (EVERY_TEST, WRITECACHE, *(f"CONFIG_{symbol}=y" for symbol in symbols))
    tools = Toolchain(architecture, llvm)
    return KernelConfig(name or architecture.name, (*OBJECTS, *fragments), asked, tools)


def add_zone_device(config: KernelConfig) -> KernelConfig:
    if config.tools.architecture in WITHOUT_ZONE_DEVICE:
        return config
    lines = (*config.lines, "CONFIG_FS_DAX=y", "CONFIG_DEV_DAX=y")
    return replace(config, fragments=(ZONE_DEVICE, *config.fragments), lines=lines)


WIDE = "64BIT"
# Deferred initialisation is in mm/mm_init.c too. It cannot be combined with KMSAN.
DEFERRED = "DEFERRED_STRUCT_PAGE_INIT"
# Of these two, every file that the series touches.
whole = partial(
    target, X86_64, WIDE, DEFERRED, "SYSFS", "HUGETLBFS", "KEXEC_HANDOVER", "CRASH_DUMP"
)
OBJECTS_X86_64, CLANG = whole(), whole(name="x86_64-clang", llvm=LLVM)
OBJECTS_I386 = target(I386)
# All of the 64-bit ones but UML have deferred initialisation, with SPARSEMEM_VMEMMAP only.
OBJECTS_ARM64 = target(ARM64, DEFERRED)
SPARSEMEM = "SPARSEMEM_MANUAL"
TARGETS = (
    OBJECTS_X86_64,
    CLANG,
    OBJECTS_I386,
    target(UML, WIDE),
    OBJECTS_ARM64,
    target(architectures.RISCV64, "ARCH_RV64I", "MMU", SPARSEMEM, DEFERRED),
    # NUMA needs SCHED_TOPOLOGY there, which allnoconfig leaves out.
    target(architectures.S390, "SCHED_TOPOLOGY", DEFERRED),
    target(architectures.POWERPC64, "PPC64", "PPC_BOOK3S_64", "CPU_LITTLE_ENDIAN", DEFERRED),
    # With KFENCE it is the only architecture with both ZONE_DEVICE and WANT_PAGE_VIRTUAL.
    target(architectures.LOONGARCH64, WIDE, SPARSEMEM, DEFERRED, "KFENCE", llvm=LLVM),
)
# The sanitizers' own tests: the folder, and a configuration with the sanitizer, without which they
# do not compile.
checked = partial(target, X86_64, WIDE, "DEBUG_KERNEL")
KASAN = ("DEBUG_KERNEL", "KASAN", "KASAN_GENERIC", "KASAN_KUNIT_TEST")
SANITIZERS = (
    ("mm/kasan/", checked(name="x86_64-kasan", fragments=("tracers", "kasan"))),
    ("mm/kmsan/", checked(name="x86_64-kmsan", fragments=("tracers", "kmsan"), llvm=LLVM)),
    ("kernel/kcsan/", checked(name="x86_64-kcsan", fragments=("tracers", "kcsan"))),
    # Where memcpy_nt() is memcpy().
    ("mm/kasan/", target(ARM64, *KASAN, name="arm64-kasan", fragments=("tracers",))),
)

# The programs memmap and copy, which boot none.

# What Debian's users run, by the compiler of this machine. The program does to it what a kernel
# does when it boots: see replay/boot.c. A NOP for ftrace is at each function's start, objtool makes
# NOPs of static keys, here object by object, and lists the returns.
DEBIAN = KernelConfig(
    Options.config,
    lines=turn_on("DEBUG_INFO_NONE"),
    args=("KCFLAGS=-mnop-mcount", "delay-objtool=", "objtool-args=--hacks=jump_label --rethunk"),
    debian=True,
)
HUGETLB = "HUGETLBFS HUGETLB_PAGE HUGETLB_PAGE_OPTIMIZE_VMEMMAP"
# Without these, the kernel streams no folio, and the program copy compares how it does.
DEMOTION = turn_on("NUMA_MIGRATION MEMORY_FAILURE X86_MCE")


def vary(name: str, *lines: str, **more: Any) -> KernelConfig:
    """Return the VM's configuration with these lines, and more of its fields, changed.

    Jump labels are as in a distribution's kernel: a static key that is off costs a NOP.
    """
    keys = turn_on("JUMP_LABEL") if not more.get("fragments") and name != "keys" else ()
    return replace(MEASURED, name=name, lines=(*keys, *lines), **more)


CONFIGS = {
    config.name: config
    for config in (
        DEBIAN,
        vary("default", *DEMOTION),
        # Static keys are variables, so that check_pages= can be switched on.
        vary("keys"),
        # compound_info holds the head's address, not a mask.
        vary("pointer", *turn_off(HUGETLB)),
        # Two more words, so not a power of two. Without KMSAN itself the code can run here.
        vary("page80", *WITH_KMSAN, tools=Toolchain(llvm=LLVM), args=("KMSAN_SANITIZE=n",)),
        # Also without ZONE_DMA, so that ZONE_DEVICE has another number.
        vary(
            "nomemcg",
            *turn_off("MEMCG"),
            *turn_on("EXPERT VM_EVENT_COUNTERS"),
            *turn_off("ZONE_DMA"),
        ),
        vary("debug", *turn_on("DEBUG_VM DEBUG_VM_PGFLAGS"), *DEMOTION),
        vary("trace", *turn_on("DEBUG_PAGE_REF"), fragments=(*MEASURED.fragments, "tracers")),
        # Pageblocks as large as the blocks that are freed, and no ZONE_DEVICE.
        vary(
            "pageblock",
            *turn_on("NUMA MEMORY_HOTPLUG DEFERRED_STRUCT_PAGE_INIT CMA"),
            fragments=("common", "fortify"),
        ),
        vary("clang", *DEMOTION, tools=Toolchain(llvm=LLVM)),
        KernelConfig(
            "arm64",
            ("common", "zone_device", "fortify"),
            # With addresses of 52 bits, to find a section reads a register of the kernel.
            turn_on("COMPACTION ARM64_VA_BITS_48"),
            Toolchain(ARM64),
        ),
    )
}
# Where mm/mm_init.o is linked alone.
ALONE = ("page80", "arm64")
