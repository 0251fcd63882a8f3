# SPDX-License-Identifier: GPL-2.0
"""Another proposal beside the series: compared and raced, its faults told and not fatal."""

import dataclasses
import difflib
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.core import ROOT, UserError
from harness.kernel.peer import prepare_peer
from harness.link.disassembly import note_peer_drain
from harness.link.program import MEMMAP
from harness.link.race import run_races
from support import Builder, replay

pytestmark = pytest.mark.full

ORDER = ["base", "series", "fallback", "peer", "bound"]
Build = Callable[[Path], Path]
Write = Callable[..., Path]


@pytest.fixture
def build_with(builder: Builder) -> Build:
    """Build the program with the peer that PEER= names."""

    def build_one(patches: Path) -> Path:
        named = dataclasses.replace(builder.options, peer=str(patches))
        peer = prepare_peer(named, builder.trees.base.parent)
        return MEMMAP.build(named, builder.trees, peer=peer)

    return build_one


@pytest.fixture
def write_patch(builder: Builder, tmp_path: Path) -> Write:
    """Write a patch that replaces a text in a file of the base, and return its folder."""

    def write(name: str, old: str, new: str) -> Path:
        text = (builder.trees.base / name).read_text()
        assert text.count(old) == 1
        before, after = (kind.splitlines(keepends=True) for kind in (text, text.replace(old, new)))
        diff = "".join(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}"))
        head = "From: A U Thor <author@example.org>\nSubject: [PATCH] mm: a peer\n\nWhy.\n---\n"
        (tmp_path / "0001-mm-a-peer.patch").write_text(
            f"{head}diff --git a/{name} b/{name}\n{diff}"
        )
        return tmp_path

    return write


def test_series_as_peer(
    build_with: Build, builder: Builder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = build_with(ROOT / "series/zone-device-memmap")
    note_peer_drain(builder.options)
    assert "note: peer: SFENCE follows each MOVNTI of memmap_init" in capsys.readouterr().out
    done = replay(program, "check", "fill", "3000")
    assert not done.returncode
    assert done.stdout.endswith("series and fallback and peer as base, byte for byte\n")
    for result in run_races(program, ["race fill:1,fill:1:o9 1"], 1, tmp_path)["results"]:
        assert [*result["runs"][0]["samples"]] == ORDER


def test_fault_of_the_peer_is_told(
    build_with: Build, write_patch: Write, builder: Builder, capsys: pytest.CaptureFixture[str]
) -> None:
    old = "page->zone_device_data = NULL;"
    program = build_with(write_patch("mm/mm_init.c", old, old.replace("NULL", "(void *)1")))
    done = replay(program, "check", "fill", "3000")
    assert not done.returncode
    case, field, summary = done.stdout.splitlines()
    assert case.startswith("differs check fill 1 1 ")
    assert field.startswith("  peer: pfn ") and "page.zone_device_data (lru.prev): 0x01" in field
    assert "series and fallback as base, byte for byte; peer differs from base in " in summary
    assert 2000 < int(summary.split()[-2]) <= 3000
    assert not replay(program, "race", "fill:1", "1").returncode
    note_peer_drain(builder.options)
    assert "note: peer: memmap_init_zone_device() has no MOVNTI" in capsys.readouterr().out


def test_peer_that_does_not_compile(build_with: Build, write_patch: Write) -> None:
    patches = write_patch("mm/mm_init.c", "page->zone_device_data = NULL;", "page->gone = NULL;")
    with pytest.raises(UserError) as caught:
        build_with(patches)
    assert str(caught.value).startswith(
        f"PEER={patches} cannot be built: make mm/mm_init.o and more ("
    )
    assert "mm/mm_init.c:1000:" in str(caught.value) and "no member named" in str(caught.value)
    assert str(caught.value).endswith(": correct it, or leave PEER out")


def test_struct_page_of_another_size(build_with: Build, write_patch: Write) -> None:
    old = "} _struct_page_alignment;"
    program = build_with(
        write_patch("include/linux/mm_types.h", old, f"	unsigned long more;\n{old}")
    )
    done = replay(program, "check")
    assert done.returncode == 2 and done.stderr == (
        "replay: struct page has 80 bytes in peer, 64 in base: keep its size, or leave peer out\n"
    )
