# SPDX-License-Identifier: GPL-2.0
"""Check that an x86-64 function executes SFENCE after MOVNTI on every path before it returns.

A missing memcpy_nt_drain() does not change the memmap, and an emulator stores MOVNTI through the
cache. So only the disassembly shows it.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from harness.core import Options, UserError, run, say

FUNCTION = "memmap_init_zone_device"
# What the series' threads run.
CHUNK = "memmap_init_device_chunk"
SECTION = re.compile(r"^Disassembly of section (\S+):$")
LABEL = re.compile(r"^[0-9a-f]+ <(\S+)>:$")
LINE = re.compile(
    r"^ *([0-9a-f]+):\t(?:(?:lock|notrack|bnd|cs|ds|rep|repz) )*(\S+) *(?:([0-9a-f]+) <)?"
)
# The relocation of the line above it: what a call or a jump really goes to.
RELOCATION = re.compile(r"^\t\t\t([0-9a-f]+): R_X86_64_(?:PLT32|PC32)\t(\S+?)([+-]0x[0-9a-f]+)?$")
# What gcc adds to the name of a function that it has adapted to its callers.
ADAPTED = r"(?:\.(?:constprop|isra|part)\.\d+)*"
# Calls that do not return, and calls of functions elsewhere in the kernel that use MOVNTI.
NORETURN = ("__stack_chk_fail", "__fortify_panic")
STREAMING = ("__memcpy_flushcache", "__copy_user_nocache", "copy_mc_page_nt")
DRAINS = ("sfence", "mfence")

Place = tuple[str, int]
NOWHERE = ("", -1)


@dataclass
class Instruction:
    """A mnemonic, where it jumps to within the object, and else the name of what it refers to."""

    name: str
    following: Place
    target: Place | None = None
    symbol: str = ""


class Code:
    """The disassembly of an object."""

    def __init__(self, obj: Path) -> None:
        self.code: dict[Place, Instruction] = {}
        self.labels: dict[str, Place] = {}
        self.bodies: dict[str, list[Place]] = {}
        self.leaving: dict[str, bool] = {}
        pending: list[tuple[Instruction, str, int]] = []
        section, label = "", ""
        last: Instruction | None = None
        text = run(["objdump", "-dr", "--no-show-raw-insn", obj], f"objdump {obj.name}")
        for line in text.splitlines():
            if match := SECTION.match(line):
                section, last = match[1], None
            elif match := LABEL.match(line):
                label = match[1]
                self.bodies[label] = []
            elif match := LINE.match(line):
                place = section, int(match[1], 16)
                if last:
                    last.following = place
                last = Instruction(match[2], (section, -1))
                if match[3]:
                    last.target = section, int(match[3], 16)
                self.labels.setdefault(label, place)
                self.bodies[label].append(place)
                self.code[place] = last
            elif last and last.target and (match := RELOCATION.match(line)):
                # It counts from the end of its own four bytes.
                pending.append((last, match[2], int(match[3] or "0", 16) + 4))
        for instruction, symbol, offset in pending:
            start = self.labels.get(symbol)
            if symbol.startswith("."):
                start = symbol, 0
            instruction.target = (start[0], start[1] + offset) if start else None
            instruction.symbol = symbol
        self.names = {place: name for name, place in self.labels.items()}

    def find_called(self, instruction: Instruction) -> str:
        """Return the function that an instruction calls or jumps to, or nothing."""
        if not instruction.name.startswith(("call", "jmp")):
            return ""
        return self.names.get(instruction.target or ("", 0), instruction.symbol)

    def list_body(self, function: str) -> list[Instruction]:
        """Return the instructions of a function, with those of its cold part."""
        places = self.bodies.get(function, []) + self.bodies.get(f"{function}.cold", [])
        return [self.code[place] for place in places]

    def find_seeds(self, function: str) -> list[Instruction]:
        """Return the instructions after which stores of the function wait for SFENCE."""
        return [
            one
            for one in self.list_body(function)
            if one.name.startswith("movnt")
            or (called := self.find_called(one)) in STREAMING
            or (called in self.bodies and self.leaves_stores(called))
        ]

    def streams(self, function: str, seen: frozenset[str] = frozenset()) -> bool:
        """Tell whether a function, or one of the object that it calls, has MOVNTI."""
        return bool(self.find_seeds(function)) or any(
            called in self.bodies
            and called not in seen
            and self.streams(called, seen | {function, called})
            for called in map(self.find_called, self.list_body(function))
        )

    def leaves_stores(self, function: str) -> bool:
        """Tell whether a function can return before SFENCE follows its stores."""
        if function not in self.leaving:
            self.leaving[function] = False  # for one that calls itself
            self.leaving[function] = any(map(self.walk, self.find_seeds(function)))
        return self.leaving[function]

    def walk(self, seed: Instruction, publisher: str = "") -> str:
        """Return what a store at seed reaches without SFENCE: "end", "publish" or nothing."""
        if seed.name.startswith("jmp"):
            return "end"
        ways = [seed.following]
        seen: set[Place] = set()
        while ways:
            place = ways.pop()
            if place in seen:
                continue
            seen.add(place)
            one = self.code.get(place)
            # Out of the object, or to where a register says: a tail call.
            if not one or one.name.startswith("ret"):
                return "end"
            called = self.find_called(one)
            if one.name in (*DRAINS, "ud2") or called in NORETURN:
                continue
            if publisher and called == publisher:
                return "publish"
            if one.name.startswith("j"):
                ways.append(one.target or NOWHERE)
            if not one.name.startswith("jmp"):
                ways.append(one.following)
        return ""


def find_undrained(obj: Path, function: str = FUNCTION, publisher: str = "") -> str:
    """Return what is wrong with the function, or nothing.

    It is wrong when neither it nor what it calls in the object has MOVNTI, or when one reaches the
    end of the function, or a call of publisher, without SFENCE. A jump out of the object counts as
    the end. Raises UserError when the object lacks the function.
    """
    code = Code(obj)
    names = [name for name in code.bodies if re.fullmatch(function + ADAPTED, name)]
    if not names:
        raise UserError(f"{obj} has no {function}(): is CONFIG_ZONE_DEVICE on?")
    if not any(map(code.streams, names)):
        return f"{function}() has no MOVNTI"
    found = {code.walk(seed, publisher) for name in names for seed in code.find_seeds(name)}
    if "publish" in found:
        return f"{function}() calls {publisher}() after MOVNTI without SFENCE"
    if "end" in found:
        return f"MOVNTI reaches the end of {function}() without SFENCE"
    return ""


def note_peer_drain(options: Options) -> None:
    """Say how the peer of the last `make replay` drains its stores: a note, no verdict."""
    for obj in (options.build / "replay").glob(f"{options.config}-peer-*/mm/mm_init.o"):
        try:
            found = find_undrained(obj)
        except UserError as error:
            found = str(error)
        say(f"note: peer: {found or f'SFENCE follows each MOVNTI of {FUNCTION}()'}")
