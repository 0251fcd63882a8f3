# SPDX-License-Identifier: GPL-2.0
"""The architectures: their cross tools, and how QEMU runs them. To add one, start here.

ARCH= accepts each architecture that has a machine. Such an architecture needs configs/NAME.config.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

# The suffix of the LLVM tools that compile kernels.
LLVM = "-19"


@dataclass(frozen=True)
class Machine:
    """The machine that QEMU provides; tcg is for the kernel's command line when it emulates."""

    image: str
    qemu: str
    board: str
    console: str
    tcg: str = ""
    firmware: Path | None = None
    packages: tuple[str, ...] = ()


@dataclass(frozen=True)
class Architecture:
    """One architecture, by the harness's name for it and by the kernel's.

    packages are the Debian packages that cross-compile for it. cross is the prefix of the GNU
    tools. qemu is the program that runs its KUnit kernels, on a machine that kunit.py chooses.
    library names the object files of the kernel's own routines that a program links. runner is
    the command that runs a user program of the architecture on the host.
    """

    name: str
    kernel: str
    cross: str = ""
    packages: tuple[str, ...] = ()
    machine: Machine | None = None
    qemu: str = ""
    library: Mapping[str, str] = field(default_factory=dict, hash=False)
    runner: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        """The folder of its own code in the kernel's tree."""
        return f"arch/{'x86' if self.kernel in ('x86_64', 'i386') else self.kernel}"


X86_64 = Architecture(
    "x86_64",
    "x86_64",
    machine=Machine(
        "arch/x86/boot/bzImage",
        "qemu-system-x86_64",
        "q35",
        "ttyS0",
        # The emulated TSC follows the host's. On a busy host the guest misjudges its rate by up
        # to a factor of ten; the HPET shows true time. The kernel's check of the timer interrupt
        # can fail there too.
        "clocksource=hpet tsc=unstable no_timer_check",
        packages=("qemu-system-x86",),
    ),
    qemu="qemu-system-x86_64",
    library={
        **{f"mem{name}": f"arch/x86/lib/mem{name}_64.o" for name in ("set", "cpy", "move")},
        # The series does without it; another proposal may use it.
        "__memcpy_flushcache": "arch/x86/lib/usercopy_64.o",
        "__sw_hweight64": "arch/x86/lib/hweight.o",
        "int_sqrt": "lib/math/int_sqrt.o",
        # What a kernel for more CPUs than a word has bits does not inline.
        "__bitmap_set": "lib/bitmap.o",
        "__bitmap_weight": "lib/bitmap.o",
        "_find_next_bit": "lib/find_bit.o",
        "__list_add_valid_or_report": "lib/list_debug.o",
    },
)
ARM64 = Architecture(
    "arm64",
    "arm64",
    "aarch64-linux-gnu-",
    ("gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"),
    Machine(
        "arch/arm64/boot/Image",
        "qemu-system-aarch64",
        "virt",
        "ttyAMA0",
        # On arm64 only ACPI describes an NVDIMM, and only firmware provides ACPI.
        firmware=Path("/usr/share/qemu-efi-aarch64/QEMU_EFI.fd"),
        packages=("qemu-system-arm", "qemu-efi-aarch64"),
    ),
    qemu="qemu-system-aarch64",
    library={"memset": "arch/arm64/lib/memset.o", "memcpy": "arch/arm64/lib/memcpy.o"},
    runner=("qemu-aarch64",),
)
I386 = Architecture("i386", "i386", qemu="qemu-system-i386")
UML = Architecture("um", "um")
RISCV64 = Architecture("riscv64", "riscv", "riscv64-linux-gnu-", ("gcc-riscv64-linux-gnu",))
S390 = Architecture("s390", "s390", "s390x-linux-gnu-", ("gcc-s390x-linux-gnu",))
POWERPC64 = Architecture(
    "powerpc64", "powerpc", "powerpc64le-linux-gnu-", ("gcc-powerpc64le-linux-gnu",)
)
# Debian 12 has no gcc for it, so clang compiles it.
LOONGARCH64 = Architecture("loongarch64", "loongarch")

ARCHITECTURES = {
    architecture.name: architecture
    for architecture in (X86_64, ARM64, I386, UML, RISCV64, S390, POWERPC64, LOONGARCH64)
}
# The values that ARCH= accepts.
GUESTS = tuple(name for name, architecture in ARCHITECTURES.items() if architecture.machine)


def get_machine(name: str) -> Machine:
    """Return the machine of an architecture in GUESTS."""
    machine = ARCHITECTURES[name].machine
    assert machine
    return machine
