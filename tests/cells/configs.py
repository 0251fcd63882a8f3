# SPDX-License-Identifier: GPL-2.0
"""`make config CELL=NAME`: the kernel configuration of a test cell, its fragments merged."""

from cells import boots, compile, kernels, kunit, sanitizers
from harness.core import UserError, read_options, run_program
from harness.kernel.config import BOOTED, LIKE_DEBIAN, KernelConfig
from harness.link.program import CONFIGS


def list_configs() -> dict[str, KernelConfig]:
    """Return the configurations of all cells, by the table that a cell is in and its name there."""
    tables = {
        "vm": {**BOOTED, LIKE_DEBIAN.name: LIKE_DEBIAN, kunit.TESTED.name: kunit.TESTED},
        "kunit": {name: kernel.config for name, kernel in kunit.KERNELS.items()},
        "sanitizers": {name: kernels.KERNELS[name] for name in sanitizers.CHECKERS},
        "objects": {one.name: compile.add_zone_device(one) for one in compile.TARGETS},
        "boots": {name: boot.config for name, boot in boots.read_boots().items()},
        "linked": CONFIGS,
    }
    return {
        f"{table}/{name}": config
        for table, those in tables.items()
        for name, config in those.items()
    }


def show_config(cell: str) -> str:
    """Return a cell's configuration, or all names of cells; Raises UserError on another name."""
    configs = list_configs()
    if not cell:
        return "\n".join(configs)
    if cell not in configs:
        raise UserError(f"CELL={cell} must be one of {', '.join(configs)}")
    config = configs[cell]
    start = "Debian's own" if config.debian else "allnoconfig"
    lines = [f"# {cell}: {start}, then"]
    lines += [f"# configs/{name}.config" for name in config.fragments]
    return "\n".join([*lines, f"# compiler: {config.tools.cc}", config.text()]).rstrip()


if __name__ == "__main__":
    run_program(lambda: print(show_config(read_options().cell)))
