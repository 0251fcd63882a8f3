# SPDX-License-Identifier: GPL-2.0
"""Kernel configurations: fragments of configs/, more lines, and a toolchain.

No option is in two fragments; tests/unit/test_config.py checks that.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from harness.core import ROOT, Options, UserError
from harness.kernel.source import fetch_config
from harness.kernel.toolchain import Toolchain

FRAGMENT_FOLDER = ROOT / "configs"
# Of Debian's options, those that the code under test or its speed depends on.
MATTERING = (
    *("CALL_PADDING", "DEFERRED_STRUCT_PAGE_INIT", "FORTIFY_SOURCE", "FUNCTION_TRACER", "HZ"),
    *("HUGETLB_PAGE_OPTIMIZE_VMEMMAP", "INIT_ON_ALLOC_DEFAULT_ON", "JUMP_LABEL", "MEMCG"),
    *("MITIGATION_RETHUNK", "MITIGATION_RETPOLINE", "MITIGATION_SLS", "NODES_SHIFT", "NR_CPUS"),
    *("PREEMPT_DYNAMIC", "STACKPROTECTOR_STRONG", "UBSAN_BOUNDS", "VIRTIO_MEM", "X86_KERNEL_IBT"),
)


def turn_on(names: str) -> tuple[str, ...]:
    return tuple(f"CONFIG_{name}=y" for name in names.split())


def turn_off(names: str) -> tuple[str, ...]:
    return tuple(f"# CONFIG_{name} is not set" for name in names.split())


@dataclass(frozen=True)
class KernelConfig:
    """A kernel's configuration and tools: allnoconfig, then fragments, then lines.

    With debian, Debian's own configuration stands in for allnoconfig. If a symbol is set twice, the
    last line counts. args are more arguments for each make. modules are files to build and to keep.
    """

    name: str
    fragments: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    tools: Toolchain = Toolchain()
    args: tuple[str, ...] = ()
    debian: bool = False
    modules: tuple[str, ...] = ()

    def text(self) -> str:
        files = [(FRAGMENT_FOLDER / f"{name}.config").read_text() for name in self.fragments]
        return "".join([*files, *(f"{line}\n" for line in self.lines)])

    def read_all(self, options: Options) -> str:
        """Return Debian's configuration, where it is the start, and the text behind it."""
        return (fetch_config(options).read_text() if self.debian else "") + self.text()


def find_vanished(fragment: str, config: str) -> list[str]:
    """Return the lines of a fragment that the resulting configuration does not honour.

    `make olddefconfig` and allnoconfig silently drop an option whose dependencies are not met.
    """
    have = set(config.splitlines())
    known = {line.partition("=")[0] for line in have}
    asked = {
        match[1]: match[0]
        for match in re.finditer(r"^(?:# )?(CONFIG_\w+)(?:=.*| is not set)$", fragment, re.M)
    }
    return [
        line
        for symbol, line in asked.items()
        if (symbol in known if line.endswith(" is not set") else line not in have)
    ]


def configure(
    options: Options, config: KernelConfig, source: Path, out: Path, what: str, more: str = ""
) -> None:
    """Write out/.config for source from config and more; Raises UserError when a line vanishes.

    Of Debian's lines, those of another compiler may: out/vanished lists them.
    """
    out.mkdir(parents=True, exist_ok=True)
    whole, asked = config.read_all(options) + more, config.text() + more
    (out / "fragment").write_text(whole)
    start = "alldefconfig" if config.debian else "allnoconfig"
    args = (f"KCONFIG_ALLCONFIG={out / 'fragment'}", start)
    config.tools.make(options, source, out, f"configuring {what}", *args)
    result = (out / ".config").read_text()
    if config.debian:
        (out / "vanished").write_text("\n".join(find_vanished(whole, result)) + "\n")
        matter = rf"^CONFIG_(?:{'|'.join(MATTERING)})=.*\n"
        asked = "".join(re.findall(matter, whole, re.M)) + asked
    if gone := find_vanished(asked, result):
        (out / ".config").unlink()
        raise UserError(
            f"{', '.join(gone)} vanished from the configuration of {what}: "
            "correct the fragment, or add what it depends on"
        )
