# SPDX-License-Identifier: GPL-2.0
"""The checks that the scripts in guest/ call, and the lines that tell of one."""

import re
import subprocess

import pytest

from cells import boot_memory, boots, demotion, ktap, machine_check
from harness.core import folders

MEMORY = sorted({boot.scripts for boot in boot_memory.BOOTS.values()})
BOOTS = (boots.ROBUSTNESS.scripts, demotion.BOOT.scripts, machine_check.SCRIPT, *MEMORY)


def count_checks(scripts: str) -> int:
    """Return how many checks the guest plans for scripts."""
    guest = folders.ROOT / "guest"
    function = re.search(r"^count_checks\(\).*", (guest / "checks").read_text(), re.M)
    assert function
    program = f"word() {{ echo {scripts}; }}\n{function[0].replace('/guest', str(guest))}\n"
    return int(subprocess.check_output(["sh", "-c", f"{program}count_checks"]))


@pytest.mark.parametrize("scripts", BOOTS)
def test_checks_of_a_boot(scripts: str) -> None:
    names = boots.list_checks(scripts)
    assert names and len(names) == len(set(names))
    assert count_checks(scripts) == len(names)


def test_lines_of_a_check() -> None:
    lines = ["# a: 1", "# b: 2", "[ 1.0] # a: 3", "# b-a: 4", "ok 1 a # SKIP 5", "# a"]
    assert ktap.find_lines(lines, "a") == [0, 2, 4]
