# SPDX-License-Identifier: GPL-2.0
"""Check what only the disassembly of x86-64 code shows, as it changes no memmap.

SFENCE must follow MOVNTI on every path before a function returns: an emulator stores MOVNTI through
the cache. And a loop of MOVNTI must not load what it stores: how long that takes depends on where
the stack lies, and on the CPU.
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
    r"^ *([0-9a-f]+):\t(?:(?:lock|notrack|bnd|cs|ds|rep|repz) )*(\S+) *(?:([0-9a-f]+) <)?(.*)"
)
# An operand in memory: all but the last one, or that of an instruction that does not only store.
LOAD = re.compile(r"\).*,|^(?!mov|lea|nop|prefetch).*\)")
# The relocation of the line above it: what a call or a jump really goes to.
RELOCATION = re.compile(r"^\t\t\t([0-9a-f]+): R_X86_64_(?:PLT32|PC32)\t(\S+?)([+-]0x[0-9a-f]+)?$")
# What gcc adds to the name of a function that it has adapted to its callers.
ADAPTED = r"(?:\.(?:constprop|isra|part)\.\d+)*"
# Calls that do not return, and calls of functions elsewhere in the kernel that use MOVNTI.
NORETURN = ("__stack_chk_fail", "__fortify_panic")
STREAMING = ("__memcpy_flushcache", "__copy_user_nocache", "copy_mc_nt")
DRAINS = ("sfence", "mfence")

Place = tuple[str, int]
NOWHERE = ("", -1)


@dataclass
class Instruction:
    """A mnemonic, the place behind it, and where it jumps to: a symbol elsewhere, or a place."""

    name: str
    target: Place
    loads: bool
    following: Place = NOWHERE


class Code:
    """The disassembly of an object, and what its functions do with stores before SFENCE."""

    def __init__(self, obj: Path, publisher: str = "") -> None:
        self.publisher = publisher
        self.code: dict[Place, Instruction] = {}
        self.bodies: dict[str, list[Place]] = {}
        self.judged: dict[str, set[str]] = {}
        section, label = "", ""
        last: Instruction | None = None
        text = run(["objdump", "-dr", "--no-show-raw-insn", obj], f"objdump {obj.name}")
        for line in text.splitlines():
            if match := SECTION.match(line):
                section, last = match[1], None
            elif match := LABEL.match(line):
                label = match[1]
            elif match := LINE.match(line):
                place = section, int(match[1], 16)
                if last:
                    last.following = place
                target = (section, int(match[3], 16)) if match[3] else NOWHERE
                loads = bool(LOAD.search(f"{match[2]} {match[4]}")) and match[2] != "lea"
                last = Instruction(match[2], target, loads)
                self.code[place] = last
                self.bodies.setdefault(label, []).append(place)
            elif last and last.target != NOWHERE and (match := RELOCATION.match(line)):
                # It counts from the end of its own four bytes.
                last.target = match[2], int(match[3] or "0", 16) + 4
        starts = {name: body[0] for name, body in self.bodies.items()}
        self.names = {place: name for name, place in starts.items()}
        for one in self.code.values():
            symbol, offset = one.target
            if symbol in starts and not symbol.startswith("."):
                section, address = starts[symbol]
                one.target = section, address + offset

    def judge(self, function: str) -> set[str]:
        """Return what a function, with its cold part and what it calls, does with MOVNTI.

        "store": it has some. "publish": it calls the publisher before SFENCE. "end": it returns
        before, or leaves the object.
        """
        if function in self.judged:
            return self.judged[function]
        effects: set[str] = set()
        # One that calls itself gets what was found so far.
        self.judged[function] = effects
        bodies = (self.bodies.get(name, []) for name in (function, f"{function}.cold"))
        # Each instruction is looked at, and where a store waits, all that can follow it.
        ways = [(place, False) for body in bodies for place in body]
        seen: set[tuple[Place, bool]] = set()
        while ways:
            way = place, waits = ways.pop()
            if way in seen:
                continue
            seen.add(way)
            one = self.code.get(place)
            # Out of the object, or to where a register says: a tail call.
            if not one or one.name.startswith("ret"):
                effects |= {"end"} if waits else set()
                continue
            called = ""
            if one.name.startswith(("call", "jmp")):
                called = self.names.get(one.target, one.target[0])
            if one.name in (*DRAINS, "ud2") or called in NORETURN:
                continue
            if waits and called and called == self.publisher:
                effects.add("publish")
            if one.name.startswith("movnt") or called in STREAMING:
                effects.add("store")
                waits = True
            if called in self.bodies:
                inner = self.judge(called)
                effects |= inner if one.name.startswith("jmp") else inner - {"end"}
                waits = waits or "end" in inner
            if waits and one.name.startswith("j"):
                ways.append((one.target, True))
            if waits and not one.name.startswith("jmp"):
                ways.append((one.following, True))
        return effects


def find_undrained(obj: Path, function: str = FUNCTION, publisher: str = "") -> str:
    """Return what is wrong with the function, or nothing.

    It is wrong when neither it nor what it calls in the object has MOVNTI, or when one reaches the
    end of the function, or a call of publisher, without SFENCE. A jump out of the object counts as
    the end. Raises UserError when the object lacks the function.
    """
    code = Code(obj, publisher)
    names = [name for name in code.bodies if re.fullmatch(function + ADAPTED, name)]
    if not names:
        raise UserError(f"{obj} has no {function}(): is CONFIG_ZONE_DEVICE on?")
    effects = {what for name in names for what in code.judge(name)}
    if "publish" in effects:
        return f"{function}() calls {publisher}() after MOVNTI without SFENCE"
    if "end" in effects:
        return f"MOVNTI reaches the end of {function}() without SFENCE"
    return "" if "store" in effects else f"{function}() has no MOVNTI"


def find_loads(obj: Path) -> str:
    """Return which function loads words in an innermost loop with MOVNTI, or nothing."""
    code = Code(obj)
    for name, body in code.bodies.items():
        # From where a jump leads back to, to that jump.
        loops = [
            body[body.index(target) : number + 1]
            for number, place in enumerate(body)
            if (target := code.code[place].target) in body[: number + 1]
        ]
        for loop in loops:
            if any(other != loop and {*other} <= {*loop} for other in loops):
                continue
            ones = [code.code[place] for place in loop]
            if any(one.name.startswith("movnt") for one in ones) and any(one.loads for one in ones):
                return f"{name}() loads words in a loop with MOVNTI"
    return ""


def note_peer_drain(options: Options) -> None:
    """Say how the peer of the last `make memmap` drains its stores: a note, no verdict."""
    for obj in (options.build / "replay").glob(f"{options.config}-peer-*/mm/mm_init.o"):
        try:
            fault = find_undrained(obj)
        except UserError as error:
            fault = str(error)
        say(f"note: peer: {fault or f'SFENCE follows each MOVNTI of {FUNCTION}()'}")
