# SPDX-License-Identifier: GPL-2.0
"""Devices of rare geometries, each from a report: struct pages are right, and as the base's."""

import pytest

from cells import boot_memory, peers
from cells.boots import Boot
from support import Builder, boot_both

# The first NVDIMM straddles 32 TiB, where the vmemmap goes on in the next entry of the top-level
# table. The other one is a node of its own. Of the 5 GiB of RAM that QEMU then puts at 1 TiB, the
# first 4 are soft-reserved, and the end decides that a block has 128 MiB.
ARGS = (
    "-m slots=4,maxmem=40T -cpu max,phys-bits=46 -numa node,nodeid=1 "
    "-object memory-backend-ram,id=far,size=1G,reserve=off "
    "-device nvdimm,id=nvdimm0,memdev=far,addr=0x1fffe0000000 "
    "-object memory-backend-ram,id=near,size=4G,reserve=off "
    "-device nvdimm,id=nvdimm1,memdev=near,node=1 "
    "-drive if=none,id=disk0,file=null-co://,format=raw "
    "-device nvme,serial=1,drive=disk0,cmb_size_mb=64 "
    "-drive if=none,id=disk1,file=null-co://,format=raw "
    "-device nvme,serial=2,drive=disk1,cmb_size_mb=2"
)
WORDS = "nokaslr no5lvl vm_debug=P memmap=4G%1T+0xefffffff mem=1053568M dax_hmem.region_idle=1"
BOOT = Boot(
    "geometries",
    f"{WORDS} {boot_memory.QUICK}",
    peers.CONFIG,
    ram_gib=7,
    added_gib=1,
    args=ARGS.split(),
    silence=600,
    # What offlining says of a page that it cannot move.
    harmless=lambda line: boot_memory.REFUSED in line,
)


@pytest.mark.full
def test_geometries(builder: Builder) -> None:
    boot_both(builder, "geometries", BOOT)
