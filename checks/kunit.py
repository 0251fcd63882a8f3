# SPDX-License-Identifier: GPL-2.0
"""KUnit suites, built, booted and read by the kernel's own tools/testing/kunit/kunit.py.

Object files stay under build/kunit/MACHINE-TREE, where kunit.py notes the
configuration that they were built from, so a change is an incremental build.
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.console import splat
from harness.kernels import counter
from harness.options import Options
from harness.process import ROOT, Fault, need_disk, run, say, step
from harness.toolchain import Toolchain, environment

GIB = 1
SECONDS = 900
SHOWN = 8
SUITES = {"kunit-lib": "memcpy_nt", "kunit-fortify": "fortify", "kunit-mm": "zone_device_memmap"}
# For the command line of a kernel that kunit.py does not start: neither is allnoconfig's default.
RUN = "kunit.enable=1 kunit.autorun=1"
# With one node a memmap that names node 0 by mistake would pass zone_device_memmap.
NODES = "numa=fake=2"
# kunit.py asks for KVM first, and QEMU takes TCG only where /dev/kvm cannot be opened; see harness/accel.py.
TCG = """#!/bin/sh
for word; do
	shift
	[ "$word" = kvm ] && word=tcg
	set -- "$@" "$word"
done
exec {qemu} "$@"
"""


@dataclass(frozen=True)
class Machine:
    """What runs a KUnit kernel: the fragments of kernels/ and lines that configure it, QEMU unless it is UML, kernel arguments, a
    file of kernels/ to include before every other."""

    name: str
    fragments: tuple[str, ...]
    tools: Toolchain = Toolchain()
    qemu: str = ""
    lines: tuple[str, ...] = ()
    words: str = ""
    header: str = ""

    @property
    def suites(self) -> list[str]:
        """Name the suites that it has."""
        return [SUITES[fragment] for fragment in self.fragments]

    def missing(self) -> list[str]:
        """Return the programs that it needs and that are not installed."""
        return self.tools.missing() + [self.qemu] * bool(self.qemu and not shutil.which(self.qemu))


LIB = ("kunit-lib", "kunit-fortify")
ALL = (*LIB, "kunit-mm")
# On a busy host the check that the timer interrupt works fails under TCG.
PC = "no_timer_check"
# zone_device_memmap needs ZONE_DEVICE, and that SPARSEMEM_VMEMMAP: neither exists on i386 and UML.
MACHINES = {
    machine.name: machine
    for machine in (
        Machine("x86_64", ALL, qemu="qemu-system-x86_64", words=f"{PC} {NODES}"),
        # The only one that runs natively, and so the only one in which a missing drain can show. An SMP UML needs seccomp mode.
        Machine("um", ("kunit-lib",), Toolchain("um"), lines=("CONFIG_NR_CPUS=2",), words="ncpus=2 seccomp=on", header="um.h"),
        Machine("i386", LIB, Toolchain("i386"), "qemu-system-i386", words=PC),
        # arm64 has no vmemmap optimisation of HugeTLB.
        Machine(
            "arm64",
            ALL,
            Toolchain("arm64", "aarch64-linux-gnu-"),
            "qemu-system-aarch64",
            ("CONFIG_HUGETLB_PAGE_OPTIMIZE_VMEMMAP=n",),
            NODES,
        ),
    )
}
# For a tree without memcpy_nt(): the base.
MEMMAP_ONLY = replace(MACHINES["x86_64"], fragments=("kunit-mm",))


def cases(group: dict[str, list[dict[str, object]]], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the path and the status (PASS, FAIL, SKIP, ERROR) of each test case in a report of kunit.py."""
    for case in group["test_cases"]:
        yield (*path, str(case["name"])), str(case["status"])
    for inner in group["sub_groups"]:
        yield from cases(inner, (*path, str(inner["name"])))  # type: ignore[arg-type]


def judge(report: Path, suites: Sequence[str], what: str, log: Path) -> int:
    """Return how many cases passed, parameters counted singly.

    Raises Fault, which shows what the log says of it, for a case that failed or
    was skipped and for a suite that is missing, or that nobody asked for.
    """
    whole = json.loads(report.read_text())
    found = list(cases(whole))
    for path, status in found:
        if status != "PASS":
            lines = log.read_text(errors="replace").splitlines()
            about = [number for number, line in enumerate(lines) if re.search(rf"# {re.escape(path[-1])}: |{re.escape(path[-1])} # SKIP", line)]
            raise Fault(f"{what}: {'.'.join(path)}: {status} (all of it: {log})", lines[about[0] :][:SHOWN] if about else lines[-SHOWN:])
    have = sorted({path[0] for path, _ in found if len(path) > 1})
    if have != sorted(suites) or whole["misc"]["errors"]:
        raise Fault(f"{what}: ran {', '.join(have) or 'nothing'}, not just {', '.join(suites)}, or broke off (all of it: {log})")
    return len(found)


def tool(source: Path, *words: str | Path) -> list[str | Path]:
    """Return the command that runs the tree's kunit.py."""
    return [sys.executable, "-B", source / "tools/testing/kunit/kunit.py", *words]


def parse(source: Path, log: Path, suites: Sequence[str], what: str) -> int:
    """Judge the results in a console's log, with the tree's own parser; Raises Fault as judge() does."""
    report = log.with_suffix(".json")
    report.unlink(missing_ok=True)
    try:
        run(tool(source, "parse", f"--json={report}", log), f"{what}: reading {log}")
    except Fault:
        if not report.exists():
            raise
    return judge(report, suites, what, log)


def tcg(options: Options, machine: Machine) -> dict[str, str]:
    """Return the environment for kunit.py, in which QEMU uses TCG unless ACCEL= asks for KVM."""
    env = environment(options)
    if machine.qemu and options.accel != "kvm":
        folder = options.build / "kunit/tcg"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / machine.qemu).write_text(TCG.format(qemu=shutil.which(machine.qemu)))
        (folder / machine.qemu).chmod(0o755)
        env["PATH"] = f"{folder}{os.pathsep}{env['PATH']}"
    return env


def kunit(options: Options, source: Path, machine: Machine) -> int:
    """Build and boot the KUnit kernel of the worktree source and return how many cases passed.

    Raises Fault when a tool is missing, the build fails, the kernel complains or
    takes longer than SECONDS, or a case does not pass; see judge().
    """
    if missing := machine.missing():
        raise Fault(f"{', '.join(missing)} is missing: run 'make tools-all'")
    what, out = f"KUnit on {machine.name} ({source.name})", options.build / f"kunit/{machine.name}-{source.name}"
    need_disk(options.build, GIB, what)
    out.mkdir(parents=True, exist_ok=True)
    env, make = tcg(options, machine), machine.tools.command(options, source, out)
    if machine.header:
        make.append(f"KCFLAGS=-include {ROOT / 'kernels' / machine.header}")
    common = [f"--build_dir={out}", f"--arch={machine.tools.arch}", *(f"--kunitconfig={ROOT / f'kernels/{name}.config'}" for name in machine.fragments)]
    common += [f"--kconfig_add={line}" for line in machine.lines]
    common += [f"--make_options={word}" for word in map(str, make) if re.match(r"(?!O=|ARCH=)\w+=", word)]
    step(f"configuring {what}")
    run(tool(source, "config", *common), f"configuring {what}", log=out / "config.log", env=env)
    step(f"building {what}")
    run(make, f"building {what}", log=out / "make.log", progress=counter(what), env=env)
    step(f"running {what}")
    report, log = out / "report.json", out / "test.log"
    for old in (report, log):
        old.unlink(missing_ok=True)
    more = [f"--kernel_args={word}" for word in ("panic=-1", *machine.words.split())] + ["--qemu_args=-smp 2"] * bool(machine.qemu)
    try:
        run(tool(source, "exec", *common, *more, f"--timeout={SECONDS}", f"--json={report}"), what, log=out / "exec.log", env=env)
    except Fault:
        if not report.exists():
            raise
    if complaints := [line for line in log.read_text(errors="replace").splitlines() if splat(line)]:
        raise Fault(f"{what}: the kernel complained: {complaints[0].strip()} (all of it: {log})")
    passed = judge(report, machine.suites, what, log)
    say(f"{what}: {passed} cases passed")
    return passed
