# SPDX-License-Identifier: GPL-2.0
"""Build and boot KUnit suites, and read their results, with the kernel's own kunit.py.

That is tools/testing/kunit/kunit.py. Object files stay under build/kunit/KERNEL-TREE, with the
configuration that they were built from, so a change needs only an incremental build. kunit.py
would configure a kernel with all defaults, and so with drivers that no suite needs.
"""

import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.core import Options, UserError, announce, need_disk, run, say
from harness.kernel.config import configure
from harness.kernel.configs import KunitKernel
from harness.kernel.toolchain import REPRODUCIBLE, count_lines, need_tools
from harness.vm.console import is_splat

TOOL = "tools/testing/kunit/kunit.py"
DISK_GIB = 1
SECONDS = 900
SHOWN = 8
# The last line of kunit.py's report if every case passed and no plan or number was wrong.
TOTAL = re.compile(r"Ran (\d+) tests: passed: \1$")
# The result of a suite: those of its cases are indented.
ENDED = re.compile(r"^(?:\[.*\] )?(?:not )?ok \d+ (\S+)", re.M)
# For the command line, as allnoconfig sets neither.
RUN = "kunit.enable=1 kunit.autorun=1"
# kunit.py asks for KVM first. QEMU then uses TCG only if it cannot open /dev/kvm, which is not
# enough; see harness/vm/accel.py.
TCG = """#!/bin/sh
for word; do
	shift
	[ "$word" = kvm ] && word=tcg
	set -- "$@" "$word"
done
exec {qemu} "$@"
"""


def judge_report(told: str, console: str, suites: Sequence[str], what: str, log: Path) -> int:
    """Return the number of passed cases that kunit.py tells of a console; each parameter counts.

    Raises UserError, which shows what kunit.py told besides passed cases, when a case failed or was
    skipped, when the suites that ran are not those of suites, and when the run broke off.
    """
    passed = TOTAL.search(told.rstrip())
    ran = ENDED.findall(console)
    if not passed or sorted(ran) != sorted(suites):
        lines = (line for line in told.splitlines() if "[PASSED]" not in line and "===" not in line)
        *shown, last = (line.partition("] ")[2] for line in lines)
        raise UserError(
            f"{what}: {last}; suites: {', '.join(ran) or 'none'} instead of {', '.join(suites)} "
            f"(full log: {log})",
            shown[-SHOWN:],
        )
    return int(passed[1])


def parse_log(source: Path, log: Path, suites: Sequence[str], what: str) -> int:
    """Return how many cases passed in a console's log; Raises UserError as judge_report() does."""
    command = (sys.executable, "-B", source / TOOL, "parse", log)
    report = run(command, f"{what}: reading {log}", fine=(0, 1))
    return judge_report(report, log.read_text(errors="replace"), suites, what, log)


def force_tcg(options: Options, kernel: KunitKernel) -> dict[str, str]:
    """Return the environment variables for kunit.py. QEMU uses TCG unless ACCEL= asks for KVM."""
    variables, qemu = dict(REPRODUCIBLE), kernel.architecture.qemu
    if qemu and options.accel != "kvm":
        folder = options.build / "kunit/tcg"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / qemu).write_text(TCG.format(qemu=shutil.which(qemu)))
        (folder / qemu).chmod(0o755)
        variables["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return variables


def run_kunit(options: Options, source: Path, kernel: KunitKernel) -> tuple[int, Path]:
    """Return how many cases passed, and the console's log; Raises UserError if one did not."""
    need_tools(kernel.missing())
    config = kernel.config
    what = f"KUnit on {config.name} ({source.name})"
    out = options.build / f"kunit/{config.name}-{source.name}"
    need_disk(options.build, DISK_GIB, what)
    announce(f"configuring {what}")
    configure(options, config, source, out, what)
    announce(f"building {what}")
    args, count = (*config.args, "all"), count_lines(what)
    config.tools.make(options, source, out, f"building {what}", *args, progress=count)
    announce(f"running {what}")
    log = out / "test.log"
    log.unlink(missing_ok=True)
    command: list[str | Path] = [sys.executable, "-B", source / TOOL, "exec", "--raw_output=all"]
    command += [f"--build_dir={out}", f"--kunitconfig={out / 'fragment'}"]
    command += [f"--arch={kernel.architecture.kernel}", f"--timeout={SECONDS}"]
    command += [f"--make_options={word}" for word in (config.tools.word(), *config.args)]
    command += [f"--kernel_args={word}" for word in f"panic=-1 {RUN} {kernel.words}".split()]
    # Without ACPI, x86 takes its CPUs from a table that has one for each socket.
    command += ["--qemu_args=-smp 2,sockets=2"] * bool(kernel.architecture.qemu)
    run(command, what, log=out / "exec.log", env=force_tcg(options, kernel))
    lines = log.read_text(errors="replace").splitlines()
    if complaints := [line for line in lines if is_splat(line)]:
        raise UserError(f"{what}: the kernel complained: {complaints[0].strip()} (full log: {log})")
    passed = parse_log(source, log, [suite.name for suite in kernel.suites], what)
    say(f"{what}: {passed} cases passed")
    return passed, log
