# SPDX-License-Identifier: GPL-2.0
"""The drain checker on toy assembly: jumps, tail calls, cold parts and calls."""

import shutil
import subprocess
from pathlib import Path

import pytest

from harness.core import UserError
from harness.link.disassembly import find_undrained
from support import need

END = "MOVNTI reaches the end of f() without SFENCE"
CASES = {
    "nothing to drain": ("mov %rax, (%rdi); ret", "f() has no MOVNTI"),
    "one path": ("movnti %rax, (%rdi); test %rax, %rax; je 1f; sfence; 1: ret", END),
    "both paths": ("movnti %rax, (%rdi); test %rax, %rax; je 1f; nop; 1: sfence; ret", ""),
    "loop": ("1: movnti %rax, (%rdi); dec %rax; jne 1b; sfence; ret", ""),
    "store after the drain": ("movnti %rax, (%rdi); sfence; movnti %rax, (%rsi); ret", END),
    "dies": ("movnti %rax, (%rdi); call __stack_chk_fail", ""),
    "traps": ("movnti %rax, (%rdi); ud2", ""),
    "publishes": (
        "movnti %rax, (%rdi); call publish; sfence; ret",
        "f() calls publish() after MOVNTI without SFENCE",
    ),
    "publishes drained": ("movnti %rax, (%rdi); sfence; call publish; ret", ""),
    # objdump shows the jump as one to the next instruction.
    "tail call elsewhere": ("movnti %rax, (%rdi); jmp other; 1: sfence; ret", END),
    "tail call by a condition": ("movnti %rax, (%rdi); je other; sfence; ret", END),
    "tail call by a register": ("movnti %rax, (%rdi); jmp *%rax", END),
    "tail call of what drains": ("movnti %rax, (%rdi); jmp drains", ""),
    "tail call of what streams": ("jmp leaves", END),
    "cold part drains": (
        "movnti %rax, (%rdi); jmp f.cold; .section .text.unlikely; nop; f.cold: sfence; ret",
        "",
    ),
    "cold part returns": (
        "movnti %rax, (%rdi); je f.cold; sfence; ret; "
        ".section .text.unlikely; sfence; nop; f.cold: ret",
        END,
    ),
    "cold part comes back": (
        "movnti %rax, (%rdi); jmp f.cold; 1: ret; 2: sfence; ret; "
        ".section .text.unlikely; f.cold: jmp 2b",
        "",
    ),
    "cold part comes back too late": (
        "movnti %rax, (%rdi); jmp f.cold; 1: ret; 2: sfence; ret; "
        ".section .text.unlikely; f.cold: jmp 1b",
        END,
    ),
    "cold part stores": (
        "test %rax, %rax; je f.cold; ret; "
        ".section .text.unlikely; f.cold: movnti %rax, (%rdi); ret",
        END,
    ),
    "callee leaves, caller drains": ("call leaves; sfence; ret", ""),
    "callee drains": ("call drains; ret", ""),
    "callee in turn": ("call calls; ret", END),
    "callee elsewhere": ("call __memcpy_flushcache; ret", END),
}
OTHERS = """
.text
leaves: movnti %rax, (%rdi); ret
drains: movnti %rax, (%rdi); sfence; ret
calls: call leaves; ret
"""


def assemble(text: str, output: Path) -> Path:
    """Return the object of a text; skip the test without an assembler."""
    need([] if shutil.which("as") else ["as"])
    lines = f".text\nnop\n{text}\n{OTHERS}".replace("; ", "\n")
    subprocess.run(["as", "--64", "-o", output, "-"], input=lines, text=True, check=True)
    return output


@pytest.mark.parametrize("name", CASES)
def test_toy(tmp_path: Path, name: str) -> None:
    text, undrained = CASES[name]
    toy = assemble(f".globl f\nf: {text}", tmp_path / "toy.o")
    assert find_undrained(toy, "f", "publish") == undrained


def test_no_such_function(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"has no f\(\)"):
        find_undrained(assemble("", tmp_path / "toy.o"), "f")
