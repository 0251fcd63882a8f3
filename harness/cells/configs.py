# SPDX-License-Identifier: GPL-2.0
"""`make config CELL=NAME`: the kernel configuration of a test cell, its fragments merged."""

from harness.cells import compile, kernels, kunit
from harness.core import UserError, read_options, run_program
from harness.kernel.config import BOOTED, LIKE_DEBIAN, KernelConfig
from harness.link.program import CONFIGS


def list_configs() -> dict[str, KernelConfig]:
    """Return the configurations of all cells, by the table that each is in and its name there."""
    tables = {
        "vm": {**BOOTED, LIKE_DEBIAN.name: LIKE_DEBIAN},
        "kunit": {name: kernel.config for name, kernel in kunit.KERNELS.items()},
        "objects": {one.name: compile.add_zone_device(one) for one in compile.TARGETS},
        "boots": kernels.KERNELS,
        "linked": CONFIGS,
    }
    return {f"{kind}/{name}": one for kind, table in tables.items() for name, one in table.items()}


def show_config(cell: str) -> str:
    """Return a cell's configuration, or all names of cells; Raises UserError on another name."""
    configs = list_configs()
    if not cell:
        return "\n".join(configs)
    if cell not in configs:
        raise UserError(f"CELL={cell} is the name of no cell: run make config for the names")
    config = configs[cell]
    start = "Debian's own" if config.debian else "allnoconfig"
    lines = [f"# {cell}: {start}, then"]
    lines += [f"# configs/{name}.config" for name in config.fragments]
    return "\n".join([*lines, f"# compiler: {config.tools.cc}", config.text()]).rstrip()


if __name__ == "__main__":
    run_program(lambda: print(show_config(read_options().cell)))
