# SPDX-License-Identifier: GPL-2.0
"""Functions that several test files call."""

import email
import email.policy
import functools
import os
import shutil
import subprocess
import threading
import tomllib
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from harness.bench.measure import measure_boot
from harness.cells import boots, sanitizers
from harness.core import ROOT, Options, make_environment, say
from harness.core.architectures import get_machine
from harness.core.debian import NotOffered
from harness.core.host import count_cpus
from harness.kernel import configs, images
from harness.kernel.config import KernelConfig
from harness.kernel.configs import BOOTED, CONFIGS, MEASURED
from harness.kernel.source import fetch_config
from harness.kernel.topics import SERIES, list_files, list_topics
from harness.kernel.tree import Trees, apply_series
from harness.link.program import Objects, Program, mutate_object
from harness.vm.accel import choose_accel
from harness.vm.console import Times
from harness.vm.devices import list_devices
from harness.vm.guest import need_memory
from harness.vm.initramfs import make_initramfs

Fault = Mapping[str, Any]
MAILS = sorted(SERIES.glob("*/[0-9]*.patch"))
PATCHES = [patch for topic in list_topics() for patch in list_files(topic)]


def need(missing: list[str]) -> None:
    """Skip the test if programs that it needs are not installed."""
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")


def need_machine(arch: str) -> None:
    machine = get_machine(arch)
    files = (machine.qemu, str(machine.firmware))
    need([file for file in files if not shutil.which(file, os.F_OK)])


# In one run, each is built once, by one thread at a time.
LOCK = threading.RLock()
build_pair = functools.cache(Program.build_pair)


@functools.cache
def build_program(program: Program, options: Options, trees: Trees, name: str) -> Path:
    return program.build(options, trees, name, pair=build_pair(program, options, trees, name))


class Builder:
    """The options of a run, both trees, and what is built of them. A missing tool skips a test."""

    def __init__(self, options: Options) -> None:
        try:
            fetch_config(options)
        except NotOffered:
            options = replace(options, config="default")
        self.options, self.trees = options, apply_series(options)

    def kernel(self, name: str, config: KernelConfig = configs.TESTED) -> images.Kernel:
        """Build base or series. The base lacks suites of TESTED, and is as measured then."""
        if name == "base" and config == configs.TESTED:
            config = MEASURED
        need(config.tools.missing())
        return images.build_kernel(self.options, name, getattr(self.trees, name), config)

    def name_config(self, name: str) -> str:
        """Return the name, or none, for that of the VM, where Debian's package is not there."""
        return "" if name == Options.config != self.options.config else name

    def need_config(self, name: str) -> None:
        """Skip the test if what a configuration needs, to build and to run, is not there."""
        config = CONFIGS[name or self.options.config]
        lacks = config.tools.missing()
        lacks += [tool for tool in config.tools.architecture.runner if not shutil.which(tool)]
        lacks += ["Debian's package"] * (config.debian and self.options.config != Options.config)
        need(lacks)

    def program(self, program: Program, name: str = "") -> Path:
        name = self.name_config(name)
        self.need_config(name)
        with LOCK:
            return build_program(program, self.options, self.trees, name)

    def pair(self, program: Program, name: str = "") -> tuple[Objects, Objects]:
        name = self.name_config(name)
        self.need_config(name)
        with LOCK:
            return build_pair(program, self.options, self.trees, name)

    def rebind(
        self, name: str, options: Options, config: KernelConfig | None = None
    ) -> tuple[dict[str, Times], str]:
        """Boot base or series of an architecture, and rebind each device three times.

        Returns the times, and what the console showed.

        Raises UserError unless each was bound so often, and all else is as it should be.
        """
        few = replace(options, rebinds=3)
        need_memory(few.gib, list_devices(few.arch))
        kernel = self.kernel(name, config or {**BOOTED, "x86_64": configs.TESTED}[few.arch])
        image = make_initramfs(few, self.trees.series)
        accel, log = choose_accel(few, kernel, image), few.build / f"test-{kernel.name}.log"
        times = measure_boot(few, kernel, image, accel, log, f"test boot ({kernel.name})")
        return times, log.read_text()

    def boot(self, side: str, name: str, boot: boots.Boot) -> tuple[str, Path]:
        """Boot base or series, and return the console's text and its log.

        A kernel with a sanitizer or of another architecture is emulated. The text is without races
        in what the series does not touch.
        """
        options, checker = self.options, sanitizers.CHECKERS.get(boot.config.name)
        arch = boot.config.tools.architecture.name
        if arch != options.arch:
            need_machine(arch)
        if checker or arch != options.arch:
            options = replace(options, arch=arch, accel="tcg")
        kernel = self.kernel(side, boot.config)
        if not checker:
            return boots.boot_once(options, self.trees.series, kernel, name, boot)
        own = sanitizers.list_functions(kernel, self.trees)
        is_foreign = functools.partial(sanitizers.is_foreign_race, own)
        adapted = checker.adapt(boot, is_foreign)
        console, log = boots.boot_once(options, self.trees.series, kernel, name, adapted)
        lines = console.split("\n")
        own_lines = [line for line in lines if not is_foreign(line)]
        if races := len(lines) - len(own_lines):
            say(f"{name}: {races} races in code that the series does not touch ({log})")
        return "\n".join(own_lines), log

    def check(self, side: str, name: str, boot: boots.Boot) -> str:
        """Boot base or series, fail unless all went as planned, and return the console's text."""
        console, log = self.boot(side, name, boot)
        fail_if(boots.judge(console, log))
        return console

    def mutant(self, program: Program, name: str, fault: Fault) -> Path:
        config = fault.get("config", "")
        self.program(program, config)
        return program.build_mutant(*self.pair(program, config), name, fault)

    def mutated(self, program: Program, name: str, fault: Fault) -> Path:
        """Compile the object of the series that has a fault."""
        return mutate_object(self.pair(program)[1], name, fault)


def choose(names: Iterable[str], short: Iterable[str]) -> list[Any]:
    """Return the names as parameters. Those not in short run in make test-all only."""
    names, quick = [*names], {*short}
    # It would take its cell out of make test in silence.
    assert quick <= {*names}, f"{quick - {*names}} is the name of no cell"
    return [pytest.param(name, marks=[] if name in quick else [pytest.mark.full]) for name in names]


def start_all(
    request: pytest.FixtureRequest, test: str, call: Callable[[Any], Any]
) -> dict[Any, "Future[Any]"]:
    """Call a function with the parameter of each instance of a module's test, one on each CPU."""
    pool = ThreadPoolExecutor(count_cpus())
    request.addfinalizer(lambda: pool.shutdown(cancel_futures=True))
    functions = [item for item in request.session.items if isinstance(item, pytest.Function)]
    instances = [
        item for item in functions if item.module is request.module and item.originalname == test
    ]
    parameters = [item.callspec.params for item in instances]
    return {value: pool.submit(call, value) for params in parameters for value in params.values()}


def read_faults(program: str) -> dict[str, Fault]:
    """Return the faults in replay/PROGRAM/faults.toml; what runs, where it is told, and a dot."""
    faults = {}
    for name, fault in tomllib.loads((ROOT / f"replay/{program}/faults.toml").read_text()).items():
        if "edits" in fault:
            faults[name] = fault
        else:
            faults |= {f"{name}.{inner}": nested for inner, nested in fault.items()}
    return faults


def fail_if(why: str) -> None:
    """Fail, and show only why, if there is a reason to."""
    if why:
        pytest.fail(why, pytrace=False)


def replay(
    program: Path, *words: str, config: KernelConfig = CONFIGS["debian"]
) -> "subprocess.CompletedProcess[str]":
    """Run a program."""
    return subprocess.run(
        [*config.tools.architecture.runner, program, *words],
        capture_output=True,
        text=True,
        timeout=1200,
    )


def compare(program: Path, words: str, config: KernelConfig = CONFIGS["debian"]) -> None:
    """Fail unless a program finds the kernels equal."""
    done = replay(program, *words.split(), config=config)
    assert not done.returncode, done.stdout + done.stderr
    assert "as base, byte for byte" in done.stdout


def compare_all(program: Path, checks: Iterable[str]) -> None:
    """The same of several checks, one on each CPU."""
    with ThreadPoolExecutor(count_cpus()) as pool:
        list(pool.map(functools.partial(compare, program), checks))


def make(target: str, **env: str) -> "subprocess.CompletedProcess[str]":
    """Run a target of make, in a plain environment with env."""
    return subprocess.run(
        ["make", "-s", "-C", ROOT, target],
        env=make_environment(env),
        text=True,
        capture_output=True,
        timeout=60,
    )


def refusal(target: str, **env: str) -> str:
    """Return the one line of a target of make that refuses."""
    done = make(target, **env)
    assert done.returncode == 2, done
    [line, last] = done.stderr.splitlines()
    assert last.startswith("make: ***")
    return line


def read_mail(file: Path) -> EmailMessage:
    return email.message_from_bytes(file.read_bytes(), policy=email.policy.default)


def name_of(patch: Path) -> str:
    """Return the topic and number of a mail, as pytest's name for it."""
    return f"{patch.parent.name}/{patch.name[:4]}"
