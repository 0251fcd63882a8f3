# SPDX-License-Identifier: GPL-2.0
"""The devices of a guest: each is an NVDIMM with one namespace.

`make bench` and its table, `make shell` and the sanitizers' rebinds have all of DEVICES.
"""

from collections.abc import Sequence
from dataclasses import dataclass

MIB = 2**20
PAGE = 4096
STRUCT_PAGE = 64
# The size of the memmap of one GiB, in GiB. A bind makes QEMU touch that much memory.
MEMMAP_GIB = STRUCT_PAGE / PAGE


@dataclass(frozen=True)
class Device:
    """A namespace: its name in tables, mode in ndctl, alignment in MiB, and NUMA node."""

    name: str
    mode: str
    align_mib: int
    node: int = 0

    def __str__(self) -> str:
        """Return the device in the form that guest/rebind reads."""
        return f"{self.name}:{self.mode}:{self.align_mib}M"

    def count_pages(self, gib: float) -> int:
        """Return the number of struct pages that the kernel fills for gib GiB.

        The memmap is on the device. nd_pfn_init() (drivers/nvdimm/pfn_devs.c) puts a superblock of
        8 KiB in front, then a struct page for every page that follows the superblock, then the
        data. The start and the length of the data are multiples of the alignment.
        """
        size, align = int(gib * 1024) * MIB, self.align_mib * MIB
        before = 8192 + STRUCT_PAGE * ((size - 8192) // PAGE)
        return max(0, (size - -(-before // align) * align) // align * align // PAGE)


DEVICES = (
    Device("nd_pmem", "fsdax", 2),
    Device("dax_pmem", "devdax", 2),
    Device("dax_pmem-1G", "devdax", 1024),
)
# One device of each driver.
PAIR = DEVICES[:2]


def list_devices(arch: str) -> tuple[Device, ...]:
    """Return the devices of a guest.

    nd_pfn_supported_alignments() (drivers/nvdimm/pfn_devs.c) allows 1 GiB only where transparent
    huge pages can have that size: on x86-64, not on arm64.
    """
    return DEVICES if arch == "x86_64" else PAIR


def count_pages(devices: Sequence[Device], gib: float) -> dict[str, int]:
    return {device.name: device.count_pages(gib) for device in devices}
