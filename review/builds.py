# SPDX-License-Identifier: GPL-2.0
"""Build and boot the kernel at each patch.

One worktree checks out each commit of the series in turn, and each configuration has a folder of
objects, so builds are incremental.
"""

from harness.cells import kunit
from harness.cells.boots import Boot, boot_once
from harness.cells.warnings import find_warnings
from harness.core import Options, announce, git, say
from harness.kernel import configs
from harness.kernel.config import KernelConfig, configure
from harness.kernel.images import build_kernel
from harness.kernel.toolchain import count_lines
from harness.kernel.tree import Trees, checkout_commit
from harness.vm.console import read_message
from harness.vm.devices import PAIR

BOOT = Boot("rebind", f"{kunit.RUN} zdm.rebinds=1", gib=2, devices=PAIR)
FOLDERS = ("mm/", "lib/", "arch/x86/lib/")


def list_suites(trees: Trees, commit: str) -> list[configs.Suite]:
    files = [f"{commit}:{name}" for name in ("lib/Kconfig.debug", "mm/Kconfig")]
    known = git(trees.base, "show", *files).splitlines()
    return [suite for suite in configs.SUITES if f"config {suite.symbol}" in known]


def check_vm(options: Options, trees: Trees, commit: str) -> list[str]:
    """Build the VM's kernel at a patch, rebind and run its KUnit suites; return the warnings.

    Each patch must pass the selftest of the finished series.
    """
    suites = list_suites(trees, commit)
    names, what = [suite.name for suite in suites], f"the VM's kernel at {commit[:12]}"
    where = checkout_commit(trees.base.parent, commit)
    kernel = build_kernel(options, "review", where, configs.add_suites("", suites))
    announce(f"booting {what}")
    text, log = boot_once(options, trees.series, kernel, "review", BOOT)
    # Leave out the selftest's results: they do not belong to a KUnit suite.
    log.write_text("\n".join(line for line in text.split("\n") if not read_message(line)))
    passed = kunit.parse_log(trees.base, log, names, what)
    say(f"{what}: {passed} cases of {', '.join(names)} passed")
    return find_warnings((options.build / "review.log").read_text(), where)


def build_folders(options: Options, trees: Trees, commit: str) -> list[str]:
    """Build mm/, lib/ and arch/x86/lib/ with allnoconfig and return the warnings."""
    where, config = checkout_commit(trees.base.parent, commit), KernelConfig("allnoconfig")
    out = options.build / f"objects/review-{config.name}"
    what = f"mm, lib, arch/x86/lib ({config.name}) at {commit[:12]}"
    doing, count = f"building {what}", count_lines(what)
    announce(doing)
    configure(options, config, where, out, what)
    warnings = [
        config.tools.make(options, where, out, doing, *targets, progress=count)
        for targets in (["prepare"], FOLDERS)
    ]
    return find_warnings("".join(warnings), where)
