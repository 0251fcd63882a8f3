# SPDX-License-Identifier: GPL-2.0
"""The copy replay: every byte arrives, by each routine, and a copy that is wrong is found."""

import subprocess
from pathlib import Path

import pytest

from harness.kernel.toolchain import compile_like_mm_init
from harness.replay import build
from harness.replay.copy import PROGRAM
from support import Builder, choose, race, replay

NAMES = ["memcpy", "copy_to_nontemporal", "__memcpy_flushcache", "memcpy_nt"]
UNCACHED = "arch/x86/lib/copy_user_uncached_64"
# What the kernels' code has alternatives for, and the program applies.
FEATURES = ("CLFLUSHOPT", "CLWB", "FSRM")
FAULT = "#include <asm/string.h>\n#undef arch_memcpy_nt\n#define arch_memcpy_nt(dst, src, n) "


def list_features() -> list[str]:
    """Return the features that this CPU has."""
    flags = Path("/proc/cpuinfo").read_text().partition("\nflags")[2].partition("\n")[0].split()
    return [name for name in FEATURES if name.lower() in flags]


def check_fault(builder: Builder, folder: Path, fault: str) -> "subprocess.CompletedProcess[str]":
    """Compare in a program whose series has another memcpy_nt()."""
    before, after = builder.pair(PROGRAM)
    header, made = folder / "fault.h", after.out / "copy-shim.o"
    header.write_text(f"{FAULT}{fault}\n")
    words = after.out, PROGRAM.folder / "shim.c", made, f"-I{PROGRAM.folder}"
    try:
        compile_like_mm_init(*words, "-include", str(header))
        mutant = PROGRAM.link_side(after, "mutant", "series")
    finally:
        compile_like_mm_init(*words)
    sides = [PROGRAM.link_side(before, "base"), mutant]
    return replay(PROGRAM.link_program(after, sides, after.out / "fault"), "check", "2000")


def test_alternatives_are_applied(builder: Builder, tmp_path: Path) -> None:
    samples = race(builder.replay(PROGRAM), tmp_path, "race", "8")
    assert samples["alternatives"] == (", ".join(list_features()) or "none")


@pytest.mark.parametrize("name", choose(PROGRAM.configs, ("debian",)))
def test_every_byte(builder: Builder, name: str) -> None:
    done = replay(builder.replay(PROGRAM, name), "check")
    assert not done.returncode, done
    assert f"copies by each of {len(NAMES)}: every byte as it must be" in done.stdout


def test_wrong_word_is_found(builder: Builder) -> None:
    edits = [["21:	movnti %r9,8(%rdi)\n", "21:	movnti %r8,8(%rdi)\n"]]
    fault = {"file": f"{UNCACHED}.S", "edits": edits}
    before, after = builder.pair(PROGRAM)
    # The base's routine is raced, so the base gets the fault.
    changed = {UNCACHED: build.mutate_object(before, "word", fault)}
    mutant = PROGRAM.link_side(before, "mutant", "base", changed)
    sides = [mutant, PROGRAM.link_side(after, "series")]
    done = replay(PROGRAM.link_program(after, sides, after.out / "word"), "check")
    assert done.returncode == 1 and "DIFFERS copy_to_nontemporal: " in done.stdout
    assert "DIFFERS memcpy" not in done.stdout


def test_short_copy_is_found(builder: Builder, tmp_path: Path) -> None:
    done = check_fault(builder, tmp_path, "__memcpy(dst, src, (n) - !!(n))")
    assert done.returncode == 1 and "DIFFERS memcpy_nt: 1 bytes to" in done.stdout
    assert "DIFFERS memcpy_nt: 64 bytes, a constant, to" in done.stdout
    assert "DIFFERS copy" not in done.stdout


@pytest.mark.parametrize("feature", ["CLWB", "SMAP"])
def test_alternative_runs_where_it_may(builder: Builder, tmp_path: Path, feature: str) -> None:
    trap = f'alternative("", "ud2", X86_FEATURE_{feature})'
    done = check_fault(builder, tmp_path, f"({{ {trap}; __memcpy(dst, src, n); }})")
    if feature in list_features():
        assert done.returncode == 3 and "the code of memcpy_nt hit BUG()" in done.stderr
    else:
        assert not done.returncode, done
