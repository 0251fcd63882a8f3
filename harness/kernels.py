# SPDX-License-Identifier: GPL-2.0
"""The kernels to boot: images under build/kernels/NAME-KEY/, keyed by what goes into them.

The key is the source tree's content, the flavour's fragments of kernels/ and
the compiler. Object files stay under build/objects/NAME, so a change is an
incremental build.
"""

import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.options import Options, start
from harness.process import ROOT, Fault, digest, git, need_disk, say, step
from harness.toolchain import Toolchain
from harness.tree import Tree, tree

FRAGMENT = ROOT / "kernels/vm.config"
STEPS = 1920
SECONDS = 15
GIB = 1.5
KEPT = {".config": "config", "mm/mm_init.o": "mm_init.o", "vmlinux": "vmlinux", "include/config/kernel.release": "release"}


@dataclass(frozen=True)
class Flavour:
    """A kind of kernel: fragments of kernels/ on top of allnoconfig, of which the last line of a symbol counts, and its tools."""

    name: str = ""
    fragments: tuple[str, ...] = ("vm",)
    tools: Toolchain = Toolchain()
    image: str = "arch/x86/boot/bzImage"

    def text(self) -> str:
        """Return the fragments' lines."""
        return "".join((ROOT / f"kernels/{name}.config").read_text() for name in self.fragments)


MEASURED = Flavour()
ARM64 = Flavour("arm64", ("arm64",), Toolchain("arm64", "aarch64-linux-gnu-"), "arch/arm64/boot/Image")
FLAVOURS = {flavour.tools.arch: flavour for flavour in (MEASURED, ARM64)}


@dataclass(frozen=True)
class Kernel:
    """A built kernel; release is what its `uname -r` must say."""

    name: str
    release: str
    image: Path
    arch: str = "x86_64"


def vanished(fragment: str, config: str) -> list[str]:
    """Return the lines of a fragment that the resulting configuration does not honour.

    `make olddefconfig` and allnoconfig drop an option whose dependencies are
    not met without a word, so each line is looked up afterwards.
    """
    have = set(config.splitlines())
    asked = {match[1]: match[0] for match in re.finditer(r"^(?:# )?(CONFIG_\w+)(?:=.*| is not set)$", fragment, re.M)}
    return [
        line
        for symbol, line in asked.items()
        if (f"\n{symbol}=" in f"\n{config}" if line.endswith(" is not set") else line not in have)
    ]


def counter(what: str) -> Callable[[str], None]:
    """Return a progress callback that counts kbuild's lines and reports every SECONDS seconds."""
    done, last = 0, time.monotonic()

    def count(line: str) -> None:
        nonlocal done, last
        done += line.startswith("  ")
        if time.monotonic() - last >= SECONDS:
            last = time.monotonic()
            say(f"{what}: {done} of about {STEPS} steps, {line.split()[-1] if line.split() else ''}")

    return count


def configure(options: Options, tools: Toolchain, source: Path, objects: Path, fragment: str, what: str) -> None:
    """Write .config in objects from allnoconfig and the lines of fragment; Raises Fault if one of them vanishes."""
    objects.mkdir(parents=True, exist_ok=True)
    (objects / "fragment").write_text(fragment)
    tools.make(options, source, objects, f"configuring {what}", f"KCONFIG_ALLCONFIG={objects / 'fragment'}", "allnoconfig")
    if gone := vanished(fragment, (objects / ".config").read_text()):
        (objects / ".config").unlink()
        raise Fault(f"{', '.join(gone)} vanished from the configuration of {what}: correct the fragment, or add what it depends on")


def kernel(options: Options, name: str, source: Path, flavour: Flavour = MEASURED) -> Kernel:
    """Return the kernel of the worktree source, built if no finished one has its key.

    Raises Fault when a tool is missing, a fragment line vanishes or the build fails.
    """
    if missing := flavour.tools.missing():
        raise Fault(f"{', '.join(missing)} is missing: run 'make tools'")
    fragment, tools = flavour.text(), flavour.tools
    label = f"{name}+{flavour.name}" if flavour.name else name
    key = digest(label, git(source, "rev-parse", "HEAD^{tree}"), fragment, tools.version())
    home = options.build / f"kernels/{label}-{key}"
    # An earlier version of this file may have kept others.
    if not all((home / kept).exists() for kept in ("image", *KEPT.values())):
        what = f"the {label} kernel"
        need_disk(options.build, GIB, what)
        objects, new = options.build / f"objects/{label}", options.build / "kernels/new.tmp"
        step(f"configuring {what}")
        configure(options, tools, source, objects, fragment, what)
        step(f"building {what}")
        tools.make(
            options,
            source,
            objects,
            f"building {what}",
            f"LOCALVERSION=-{label}",
            Path(flavour.image).name,
            log=options.build / f"{label}.log",
            progress=counter(f"{label} kernel"),
        )
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        for made, kept in {flavour.image: "image", **KEPT}.items():
            shutil.copyfile(objects / made, new / kept)
        for old in home.parent.glob(f"{label}-*"):
            shutil.rmtree(old)
        new.rename(home)
    return Kernel(label, (home / "release").read_text().strip(), home / "image", tools.arch)


def kernels(options: Options, trees: Tree) -> tuple[Kernel, Kernel]:
    """Return the base and the series kernel to measure."""
    flavour = FLAVOURS[options.arch]
    pair = kernel(options, "base", trees.base, flavour), kernel(options, "series", trees.series, flavour)
    say(f"kernels: {pair[0].release}, {pair[1].release}")
    return pair


if __name__ == "__main__":
    start(lambda options: kernels(options, tree(options)))
