# SPDX-License-Identifier: GPL-2.0
"""The kernels to compare: bzImages under build/kernels/NAME-KEY/, keyed by what goes into them.

The key is the source tree's content, kernels/vm.config and the compiler.
Object files stay under build/objects/NAME, so a change is an incremental build.
"""

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.options import Options, start
from harness.process import ROOT, Fault, digest, git, need_disk, run, say, step
from harness.tree import Tree, tree

FRAGMENT = ROOT / "kernels/vm.config"
STEPS = 1920
SECONDS = 15
GIB = 1.5


@dataclass(frozen=True)
class Kernel:
    """A built kernel; release is what its `uname -r` must say."""

    name: str
    release: str
    image: Path


def vanished(fragment: str, config: str) -> list[str]:
    """Return the lines of a fragment that the resulting configuration does not honour.

    `make olddefconfig` and allnoconfig drop an option whose dependencies are
    not met without a word, so each line is looked up afterwards.
    """
    have = set(config.splitlines())
    return [
        line
        for line in fragment.splitlines()
        if line.startswith("CONFIG_")
        and line not in have
        or line.endswith(" is not set")
        and f"{line.split()[1]}=" in config
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


def kernel(options: Options, name: str, source: Path) -> Kernel:
    """Return the kernel of the worktree source, built if no finished one has its key.

    Raises Fault when a fragment line vanishes or the build fails.
    """
    compiler = run(["gcc", "--version"], "gcc").splitlines()[0]
    fragment = FRAGMENT.read_text()
    key = digest(name, git(source, "rev-parse", "HEAD^{tree}"), fragment, compiler)
    home = options.build / f"kernels/{name}-{key}"
    if not home.exists():
        need_disk(options.build, GIB, f"the {name} kernel")
        objects, new = options.build / f"objects/{name}", options.build / "kernels/new.tmp"
        objects.mkdir(parents=True, exist_ok=True)
        make: list[str | Path] = [
            "make",
            "-C",
            source,
            f"O={objects}",
            f"-j{options.jobs}",
            "CC=ccache gcc",
            f"LOCALVERSION=-{name}",
        ]
        env = os.environ | {
            "CCACHE_DIR": str(options.build / "ccache"),
            "CCACHE_MAXSIZE": "2G",
            "CCACHE_DEPEND": "1",
            "KBUILD_BUILD_TIMESTAMP": "@0",
            "KBUILD_BUILD_USER": "harness",
            "KBUILD_BUILD_HOST": "harness",
            "KBUILD_BUILD_VERSION": "1",
        }
        step(f"configuring the {name} kernel")
        run([*make, f"KCONFIG_ALLCONFIG={FRAGMENT}", "allnoconfig"], f"configuring the {name} kernel", env=env)
        if gone := vanished(fragment, (objects / ".config").read_text()):
            raise Fault(
                f"{FRAGMENT.name}: {', '.join(gone)} vanished from the {name} kernel's configuration: correct the line, or add what it depends on"
            )
        step(f"building the {name} kernel")
        run(
            [*make, "bzImage"],
            f"building the {name} kernel",
            log=options.build / f"{name}.log",
            progress=counter(f"{name} kernel"),
            env=env,
        )
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        for made, kept in (
            ("arch/x86/boot/bzImage", "bzImage"),
            (".config", "config"),
            ("mm/mm_init.o", "mm_init.o"),
            ("include/config/kernel.release", "release"),
        ):
            shutil.copyfile(objects / made, new / kept)
        for old in home.parent.glob(f"{name}-*"):
            shutil.rmtree(old)
        new.rename(home)
    return Kernel(name, (home / "release").read_text().strip(), home / "bzImage")


def kernels(options: Options, trees: Tree) -> tuple[Kernel, Kernel]:
    """Return the base and the series kernel."""
    pair = kernel(options, "base", trees.base), kernel(options, "series", trees.series)
    say(f"kernels: {pair[0].release}, {pair[1].release}")
    return pair


if __name__ == "__main__":
    start(lambda options: kernels(options, tree(options)))
