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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.core import Options, UserError, announce, need_disk, run, say
from harness.core.architectures import ARM64, I386, UML, Architecture
from harness.kernel.config import FRAGMENT_FOLDER, MEASURED, KernelConfig, configure, turn_on
from harness.kernel.toolchain import REPRODUCIBLE, Toolchain, count_lines, need_tools
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
# With only one node, a memmap that names node 0 by mistake would pass zone_device_memmap.
NODES = "numa=fake=2"
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


@dataclass(frozen=True)
class Suite:
    """A KUnit suite: its name, the fragments and the lines that configure it, its own first."""

    name: str
    fragments: tuple[str, ...]
    lines: tuple[str, ...]

    @property
    def symbol(self) -> str:
        return self.lines[0].removeprefix("CONFIG_").removesuffix("=y")


MEMCPY_NT = Suite("memcpy_nt", ("common", "kunit"), turn_on("MEMCPY_NT_KUNIT_TEST"))
# In a kernel with MEMCPY_NT, it also puts FORTIFY_SOURCE between that suite and memcpy_nt().
FORTIFY = Suite("fortify", ("common", "kunit", "fortify"), turn_on("FORTIFY_KUNIT_TEST"))
# NUMA_EMU gives it several nodes to tell apart.
MEMMAP = Suite(
    "zone_device_memmap",
    ("common", "kunit", "zone_device"),
    turn_on("ZONE_DEVICE_MEMMAP_KUNIT_TEST NUMA_EMU HUGETLBFS"),
)
# What `make review` runs at each patch, as far as the patch has it.
SUITES = (FORTIFY, MEMCPY_NT, MEMMAP)


def add_suites(name: str, suites: Iterable[Suite]) -> KernelConfig:
    """Return the measured kernel's configuration with suites, which run when it is asked to."""
    lines = tuple(line for suite in suites for line in suite.lines)
    return replace(MEASURED, name=name, fragments=(*MEASURED.fragments, "kunit"), lines=lines)


# The kernel of the series that tests boot.
TESTED = add_suites("tested", SUITES)

# Without EXPERT, Kconfig adds block devices, keyboards and more.
SMALL = turn_on("EXPERT PROC_FS SYSFS TTY")
# What each architecture needs besides on the machine that kunit.py chooses.
MACHINES = {
    # kunit.py gives a guest 1 GiB, of which 128 MiB are high memory here.
    I386: (*SMALL, *turn_on("SERIAL_8250 SERIAL_8250_CONSOLE HIGHMEM4G")),
    UML: turn_on("64BIT STDERR_CONSOLE"),
    ARM64: (*SMALL, *turn_on("SERIAL_AMBA_PL011 SERIAL_AMBA_PL011_CONSOLE")),
}


@dataclass(frozen=True)
class KunitKernel:
    """A kernel that kunit.py builds and boots, in QEMU if its architecture names one.

    lines are more of its configuration, words for its command line, args for each make.
    """

    architecture: Architecture
    suites: tuple[Suite, ...]
    lines: tuple[str, ...] = ()
    words: str = ""
    args: tuple[str, ...] = ()

    @property
    def config(self) -> KernelConfig:
        fragments = tuple(dict.fromkeys(one for suite in self.suites for one in suite.fragments))
        lines = (*MACHINES[self.architecture], *(line for one in self.suites for line in one.lines))
        name, tools = self.architecture.name, Toolchain(self.architecture)
        return KernelConfig(name, fragments, (*lines, *self.lines), tools, self.args)

    def missing(self) -> list[str]:
        qemu = self.architecture.qemu
        return self.config.tools.missing() + [qemu] * (bool(qemu) and not shutil.which(qemu))


# zone_device_memmap needs ZONE_DEVICE, which needs SPARSEMEM_VMEMMAP. i386 and UML have neither.
# On x86-64, TESTED has the suites.
KERNELS = {
    kernel.config.name: kernel
    for kernel in (
        # Of these only UML runs natively, so only here can a missing drain show.
        # An SMP UML needs seccomp mode. Every C file includes um.h first.
        KunitKernel(
            UML,
            (MEMCPY_NT,),
            ("CONFIG_NR_CPUS=2",),
            "ncpus=2 seccomp=on",
            (f"KCFLAGS=-include {FRAGMENT_FOLDER / 'um.h'}",),
        ),
        # Under TCG on a busy host, the kernel's check of the timer interrupt fails.
        KunitKernel(I386, (MEMCPY_NT, FORTIFY), words="no_timer_check"),
        KunitKernel(ARM64, (MEMCPY_NT, FORTIFY, MEMMAP), words=NODES),
    )
}


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
    told = run(command, f"{what}: reading {log}", fine=(0, 1))
    return judge_report(told, log.read_text(errors="replace"), suites, what, log)


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
