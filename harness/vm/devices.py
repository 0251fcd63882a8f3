# SPDX-License-Identifier: GPL-2.0
"""The devices of a guest. A row here is an NVDIMM, its namespace, and a row of every table."""

from collections.abc import Sequence
from dataclasses import dataclass

MIB = 2**20
PAGE = 4096
STRUCT_PAGE = 64
# struct page of every page of a GiB, in GiB: what a bind makes QEMU touch.
MEMMAP_GIB = STRUCT_PAGE / PAGE


@dataclass(frozen=True)
class Device:
    """A namespace by its name in tables: its driver, ndctl's mode, its alignment in MiB."""

    name: str
    driver: str
    mode: str
    align_mib: int

    def __str__(self) -> str:
        """Write it as guest/rebind reads it."""
        return f"{self.name}:{self.mode}:{self.align_mib}M"

    def count_pages(self, gib: float) -> int:
        """Return how many struct pages the kernel fills for gib GiB with the memmap on the device.

        nd_pfn_init() (drivers/nvdimm/pfn_devs.c) puts 8 KiB of superblock and a struct page for
        every page behind them in front of the data, which then starts on the alignment and has a
        length that is a multiple of it.
        """
        size, align = int(gib * 1024) * MIB, self.align_mib * MIB
        before = 8192 + STRUCT_PAGE * ((size - 8192) // PAGE)
        return max(0, (size - -(-before // align) * align) // align * align // PAGE)


DEVICES = (
    Device("nd_pmem", "nd_pmem", "fsdax", 2),
    Device("dax_pmem", "dax_pmem", "devdax", 2),
    Device("dax_pmem-1G", "dax_pmem", "devdax", 1024),
)
# One of each driver.
PAIR = DEVICES[:2]


def count_pages(devices: Sequence[Device], gib: float) -> dict[str, int]:
    """Return by name how many struct pages each device of gib GiB has, with its memmap on it."""
    return {device.name: device.count_pages(gib) for device in devices}
