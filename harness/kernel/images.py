# SPDX-License-Identifier: GPL-2.0
"""The kernels to boot: images under build/kernels/NAME-KEY/.

KEY is a digest of the source tree, the configuration and the compiler. Object files stay under
build/objects/NAME, so a change needs only an incremental build.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from harness.core import Options, announce, git, need_disk, say
from harness.core.architectures import get_machine
from harness.core.cache import drop_others, keep
from harness.kernel.config import KernelConfig, configure
from harness.kernel.configs import BOOTED, MEASURED
from harness.kernel.toolchain import count_lines, need_tools
from harness.kernel.tree import Trees

DISK_GIB = 1.5
KEPT = {
    ".config": "config",
    "mm/mm_init.o": "mm_init.o",
    "vmlinux": "vmlinux",
    "include/config/kernel.release": "release",
}


@dataclass(frozen=True)
class Kernel:
    """A built kernel. release is what `uname -r` must say in it."""

    name: str
    release: str
    image: Path
    arch: str = "x86_64"

    def find_objects(self) -> Path:
        """Return the folder with the objects that the image was linked from."""
        return self.image.parents[2] / "objects" / self.name

    def pack_modules(self) -> dict[str, bytes]:
        modules = self.image.parent.glob("*.ko")
        return {
            f"lib/modules/{self.release}/{module.name}": module.read_bytes() for module in modules
        }


def build_kernel(
    options: Options, name: str, source: Path, config: KernelConfig = MEASURED
) -> Kernel:
    """Return the kernel of the worktree source, and build it unless a finished one has its key.

    Raises UserError when a tool is missing, a line of the configuration vanishes, or the build
    fails.
    """
    need_tools(config.tools.missing())
    label = f"{name}+{config.name}" if config.name else name
    what, arch = f"the {label} kernel", config.tools.architecture.name
    image = get_machine(arch).image
    files = KEPT | {module: Path(module).name for module in config.modules}

    def make(new: Path) -> None:
        need_disk(options.build, DISK_GIB, what)
        out = options.build / f"objects/{label}"
        announce(f"configuring {what}")
        configure(options, config, source, out, what)
        announce(f"building {what}")
        config.tools.make(
            options,
            source,
            out,
            f"building {what}",
            f"LOCALVERSION=-{label}",
            Path(image).name,
            *["modules"] * bool(config.modules),
            log=options.build / f"{label}.log",
            progress=count_lines(what),
        )
        new.mkdir()
        for output, stored in {image: "image", **files}.items():
            shutil.copyfile(out / output, new / stored)

    key = [
        git(source, "rev-parse", "HEAD^{tree}"),
        config.read_all(options),
        config.tools.version(),
    ]
    folder = keep(options.build / "kernels", label, key, make, ("image", *files.values()))
    drop_others(folder)
    return Kernel(label, (folder / "release").read_text().strip(), folder / "image", arch)


def build_pair(options: Options, trees: Trees) -> tuple[Kernel, Kernel]:
    config = BOOTED[options.arch]
    base = build_kernel(options, "base", trees.base, config)
    series = build_kernel(options, "series", trees.series, config)
    say(f"kernels: {base.release}, {series.release}")
    return base, series
