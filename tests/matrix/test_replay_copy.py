# SPDX-License-Identifier: GPL-2.0
"""The copy replay: every byte arrives, by each routine, and a copy that is wrong is found."""

from pathlib import Path

import pytest
from support import Lab, choose, race, replay

from harness.kernel.toolchain import compile_like_mm_init
from harness.replay import build, copy
from harness.replay.copy import PROGRAM

NAMES = ["memcpy", "copy_to_nontemporal", "__memcpy_flushcache", "memcpy_nt"]
UNCACHED = "arch/x86/lib/copy_user_uncached_64"


@pytest.mark.parametrize("name", choose(PROGRAM.configs, ("default",)))
def test_every_byte(lab: Lab, name: str) -> None:
    assert replay(lab.replay(PROGRAM, name), "info").stdout.startswith(f"{', '.join(NAMES)}\n")
    done = replay(lab.replay(PROGRAM, name), "check")
    assert not done.returncode and "every byte as it must be" in done.stdout, done


def test_wrong_word_is_found(lab: Lab) -> None:
    edits = [["21:	movnti %r9,8(%rdi)\n", "21:	movnti %r8,8(%rdi)\n"]]
    fault = {"file": f"{UNCACHED}.S", "edits": edits}
    before, after = lab.pair(PROGRAM)
    # The base's routine is raced, so the base gets the fault.
    changed = {UNCACHED: build.mutate_object(before, "word", fault)}
    mutant = PROGRAM.link_side(before, "mutant", "base", changed)
    sides = [mutant, PROGRAM.link_side(after, "series")]
    done = replay(PROGRAM.link_program(after, sides, after.out / "word"), "check")
    assert done.returncode == 1 and "DIFFERS copy_to_nontemporal: " in done.stdout
    assert "DIFFERS memcpy" not in done.stdout


def test_short_copy_is_found(lab: Lab, tmp_path: Path) -> None:
    before, after = lab.pair(PROGRAM)
    fault = tmp_path / "fault.h"
    fault.write_text(
        "#include <asm/string.h>\n#undef arch_memcpy_nt\n"
        "#define arch_memcpy_nt(dst, src, n) __memcpy(dst, src, (n) - !!(n))\n"
    )
    folder, made = PROGRAM.folder, after.out / "shim.o"
    words = after.out, folder / "shim.c", made, f"-I{folder}"
    try:
        compile_like_mm_init(*words, "-include", str(fault))
        mutant = PROGRAM.link_side(after, "mutant", "series")
    finally:
        compile_like_mm_init(*words)
    sides = [PROGRAM.link_side(before, "base"), mutant]
    done = replay(PROGRAM.link_program(after, sides, after.out / "short"), "check")
    assert done.returncode == 1 and "DIFFERS memcpy_nt: 1 bytes to" in done.stdout
    assert "DIFFERS copy" not in done.stdout


def test_race(lab: Lab, tmp_path: Path) -> None:
    samples = race(lab.replay(PROGRAM), tmp_path, "race", "8", rounds=1)
    sizes = [64 << n for n in range(16)]
    every = sizes + [size + 1 for size in sizes]
    assert [result["bytes"] for result in samples["results"]] == every
    assert all(list(result["samples"]) == NAMES for result in samples["results"])
    told = copy.format_table(samples)
    assert "\n2 MiB " in told and "\n64 bytes + 1, shifted by 8 " in told
    assert copy.format_verdict(samples).startswith("copy: memcpy_nt is ")
