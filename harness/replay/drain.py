# SPDX-License-Identifier: GPL-2.0
"""Check that an x86-64 function executes SFENCE after MOVNTI on every path before it returns.

A missing memcpy_nt_drain() does not change the memmap, and an emulator stores MOVNTI through the
cache. So only the disassembly shows it.
"""

import itertools
import re
from pathlib import Path

from harness.core.command import run
from harness.core.errors import UserError
from harness.core.options import Options
from harness.core.progress import say

FUNCTION = "memmap_init_zone_device"
# What the series' threads run.
CHUNK = "memmap_init_device_chunk"
LINE = re.compile(r"^ *([0-9a-f]+):\t(\S+) *(?:([0-9a-f]+) <)?")
# What gcc adds to the name of a function that it has adapted to its callers.
ADAPTED = r"(?:\.(?:constprop|isra)\.\d+)*"
# Calls that do not return. objdump -r names them on the next line.
NORETURN = re.compile(r"\b(?:__stack_chk_fail|__fortify_panic)\b")


def list_instructions(
    obj: Path, function: str = FUNCTION, publisher: str = ""
) -> dict[int, tuple[str, int | None]]:
    """Return the mnemonic and the jump target of each instruction, by address.

    A call that does not return has the mnemonic "noreturn", one of publisher "publish". Raises
    UserError when the object lacks the function.
    """
    text = run(["objdump", "-dr", "--no-show-raw-insn", obj], f"objdump {obj.name}")
    found = re.search(rf"<{function}{ADAPTED}>:\n(.*?)(?:\n\n|\Z)", text, re.S)
    if not found:
        raise UserError(f"{obj} has no {function}(): is CONFIG_ZONE_DEVICE on?")
    code: dict[int, tuple[str, int | None]] = {}
    address = 0
    for line in found[1].splitlines():
        if match := LINE.match(line):
            address = int(match[1], 16)
            code[address] = match[2], int(match[3], 16) if match[3] else None
        elif NORETURN.search(line):
            code[address] = "noreturn", None
        elif publisher and re.search(rf"\b{publisher}\b", line):
            code[address] = "publish", None
    return code


def find_undrained(obj: Path, function: str = FUNCTION, publisher: str = "") -> list[str]:
    """Return what is wrong with the function, or nothing.

    It is wrong when there is no MOVNTI, or when one reaches the end of the function, or a call of
    publisher, without SFENCE. A jump out of the function, such as a tail call, counts as its end.
    Raises UserError as list_instructions() does.
    """
    code = list_instructions(obj, function, publisher)
    addresses = sorted(code)
    after = dict(itertools.pairwise(addresses))
    pending = [address for address in addresses if code[address][0] == "movnti"]
    if not pending:
        return [f"{function}() has no MOVNTI"]
    seen: set[int] = set()
    while pending:
        address = pending.pop()
        if address in seen:
            continue
        seen.add(address)
        if address not in code:
            return [f"MOVNTI reaches the end of {function}() without SFENCE"]
        name, target = code[address]
        if name == "sfence":
            continue
        if name == "publish":
            return [f"{function}() calls {publisher}() after MOVNTI without SFENCE"]
        if name.startswith("ret") or (name == "jmp" and target is None):
            return [f"MOVNTI reaches the end of {function}() without SFENCE"]
        if name.startswith("j") and target is not None:
            pending.append(target)
        if name not in ("jmp", "ud2", "noreturn"):
            pending.append(after.get(address, -1))
    return []


def describe_drain(obj: Path) -> str:
    """Return in words what find_undrained() finds, or that it cannot tell."""
    try:
        found = find_undrained(obj)
    except UserError as error:
        return str(error)
    return ", ".join(found) or f"SFENCE follows each MOVNTI of {FUNCTION}()"


def tell_peer(options: Options) -> None:
    """Say how the peer of the last `make replay` drains its stores: a note, no verdict."""
    for obj in (options.build / "replay").glob("default-peer-*/mm/mm_init.o"):
        say(f"note: peer: {describe_drain(obj)}")
