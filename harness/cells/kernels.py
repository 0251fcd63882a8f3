# SPDX-License-Identifier: GPL-2.0
"""The kernels that boots name: what each has besides the measured one."""

from harness.cells.kunit import MEMCPY_NT, MEMMAP, TESTED
from harness.core.architectures import LLVM
from harness.kernel.config import BOOTED, MEASURED, WITH_KMSAN, KernelConfig, turn_off, turn_on
from harness.kernel.toolchain import Toolchain

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
# probes, too. guest/boot-memory-blocks needs more CPUs, and kdump.
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
        *turn_on("KEXEC_FILE CRASH_DUMP CRASH_HOTPLUG"),
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

KERNELS = {
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
