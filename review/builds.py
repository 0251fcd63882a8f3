# SPDX-License-Identifier: GPL-2.0
"""Build and boot the kernel at each patch.

One worktree checks out each commit of the series in turn, and each configuration has a folder of
objects. Results are kept by the code of the commit. So a patch that touches only documentation, or
one that did not change, costs nothing.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from checks import kunit
from checks.compile import EVERY_TEST, X86_64, Compilation, Target, list_touched
from checks.warnings import find_added, find_warnings
from harness.core.cache import digest
from harness.core.command import git
from harness.core.errors import UserError
from harness.core.options import Options
from harness.core.progress import announce
from harness.kernel.config import MEASURED, KernelConfig, configure
from harness.kernel.images import Kernel
from harness.kernel.patches import checkout_commit
from harness.kernel.toolchain import Toolchain, count_lines, split_targets
from harness.kernel.tree import Trees
from harness.vm.accel import choose_accel
from harness.vm.console import read_message
from harness.vm.devices import PAIR
from harness.vm.guest import Guest, boot_guest
from harness.vm.initramfs import make_initramfs
from review.sparse import find_sparse
from review.verdict import Verdict, ask_version, keep_result

GIB = 2
SECONDS = 1200
SILENCE = 300
# It makes each message of sparse begin with this word, to tell it from the compiler's.
PREFIX = "-fdiagnostic-prefix=sparse"
SPARSE = re.compile(r"\bsparse: (?:warning|error): ")
FOLDERS = ("mm/", "lib/", "arch/x86/lib/")


def digest_code(worktrees: Path, commit: str) -> str:
    """Return a digest of all files of a commit that a kernel is built from."""
    rows = git(worktrees / "base", "ls-tree", commit).splitlines()
    return digest(
        *(row for row in rows if not row.endswith(("\tDocumentation", "\tMAINTAINERS", "\ttools"))),
        *(
            row
            for row in git(worktrees / "base", "ls-tree", f"{commit}:tools").splitlines()
            if not row.endswith("\ttesting")
        ),
    )


class Builds:
    """The builds of one run of the review."""

    def __init__(self, options: Options, trees: Trees) -> None:
        self.options, self.trees, self.worktrees = options, trees, trees.base.parent
        self.tools = Toolchain()
        self.kept = options.build / "review"
        self.sparse: Path | None = None
        self.image: Path | None = None

    def keep_by_code(
        self, name: str, commit: str, parts: Sequence[str | bytes], make: Callable[[Path], Any]
    ) -> Any:
        """Return what make() returns for the worktree at commit.

        It is kept by the code of the commit, the compiler and parts.
        """
        key = [digest_code(self.worktrees, commit), self.tools.version(), *parts]
        return keep_result(
            self.kept, name, key, lambda: make(checkout_commit(self.worktrees, commit))
        )

    def make(
        self,
        where: Path,
        out: Path,
        what: str,
        *args: str,
        jobs: int | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> list[str]:
        """Run make without W= and return the warnings.

        Raises UserError when it fails.
        """
        log = self.options.build / f"{out.name}.log"
        return find_warnings(
            self.tools.make(
                self.options,
                where,
                out,
                f"building {what}",
                *args,
                jobs=jobs,
                log=log,
                progress=progress,
            ),
            where,
        )

    def list_suites(self, commit: str) -> list[kunit.Suite]:
        """Return the KUnit suites that a commit has."""
        files = [f"{commit}:{name}" for name in ("lib/Kconfig.debug", "mm/Kconfig")]
        known = git(self.worktrees / "base", "show", *files).splitlines()
        return [suite for suite in kunit.SUITES if f"config {suite.symbol}" in known]

    def make_guest(self) -> Path:
        """Return the initramfs with the selftest of the finished series.

        Each patch must pass that selftest.
        """
        self.image = self.image or make_initramfs(self.options, self.trees.series)
        return self.image

    def boot_vm(self, commit: str, what: str) -> dict[str, Any]:
        """Build the VM's kernel at a patch with the suites that it has, boot it, and rebind.

        Returns the warnings, the number of passed cases, and the names of the suites.
        """
        suites = self.list_suites(commit)
        symbols = ("KUNIT", "RUNTIME_TESTING_MENU", *(suite.symbol for suite in suites))
        lines = "".join(f"CONFIG_{symbol}=y\n" for symbol in symbols)

        def make(where: Path) -> dict[str, Any]:
            out, log = (
                self.options.build / "objects/review-vm",
                self.options.build / "review-guest.log",
            )
            configure(self.options, MEASURED, where, out, what, lines)
            warnings = self.make(
                where, out, what, "LOCALVERSION=-review", "bzImage", progress=count_lines(what)
            )
            kernel = Kernel(
                "review",
                (out / "include/config/kernel.release").read_text().strip(),
                out / "arch/x86/boot/bzImage",
            )
            announce(f"booting {what}")
            guest = Guest(
                kernel,
                self.make_guest(),
                choose_accel(self.options, kernel, self.make_guest()),
                GIB,
                f"{kunit.RUN} zdm.do=rebind zdm.rebinds=1",
                devices=PAIR,
            )
            text = boot_guest(guest, log, lambda _: None, SECONDS, SILENCE)
            # Leave out the selftest's results: they do not belong to a KUnit suite.
            log.write_text(
                "".join(f"{line}\n" for line in text.split("\n") if not read_message(line))
            )
            names = [suite.name for suite in suites]
            passed = kunit.parse_log(self.trees.base, log, names, what)
            return {"warnings": warnings, "cases": passed, "suites": names}

        parts: list[str | bytes] = [MEASURED.text(), lines, self.make_guest().read_bytes()]
        return self.keep_by_code("vm", commit, parts, make)  # type: ignore[no-any-return]

    def make_config_without_zone_device(self, commit: str) -> KernelConfig:
        """Return a configuration with all that the series touches at commit except ZONE_DEVICE."""
        suites = [suite for suite in self.list_suites(commit) if suite is not kunit.MEMMAP]
        tests = [f"CONFIG_{suite.symbol}=y" for suite in suites]
        lines = [line for line in X86_64.config.lines if line != EVERY_TEST]
        return replace(X86_64.config, name="off", lines=(*lines, *tests))

    def build_folders(self, commit: str, config: KernelConfig, what: str) -> list[str]:
        """Build mm/, lib/ and arch/x86/lib/ in a configuration and return the warnings.

        Raises UserError when something does not build.
        """

        def make(where: Path) -> list[str]:
            out = self.options.build / f"objects/review-{config.name}"
            announce(f"building {what}")
            configure(self.options, config, where, out, what)
            found = self.make(where, out, what, "prepare")
            for jobs, folders in split_targets(FOLDERS):
                found += self.make(where, out, what, *folders, jobs=jobs)
            return sorted(found)

        return self.keep_by_code(config.name, commit, [config.text()], make)  # type: ignore[no-any-return]

    def compile_checked(
        self, commit: str, what: str, target: Target = X86_64, files: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Compile files, or else what the series touches, with W=1 and sparse.

        Returns the messages of both tools, and the objects. Raises UserError when a file does not
        compile, or when sparse cannot be run.
        """
        sparse = self.sparse = self.sparse or find_sparse(self.options, self.trees.base)

        def make(where: Path) -> dict[str, Any]:
            announce(f"checking {what}")
            objects = Checked(self.options, self.trees, where, sparse, target, files)
            objects.configure(not files)
            objects.said = ""
            made, _ = objects.compile()
            if lacking := [
                name
                for name in files or list_touched(self.trees)
                if (where / name).exists() and not objects.name_object(name)
            ]:
                raise UserError(
                    f"no configuration of the review compiles {', '.join(lacking)}: "
                    "see checks/compile.py"
                )
            lines = objects.said.splitlines()
            return {
                "objects": made,
                "gcc": find_warnings(
                    "\n".join(line for line in lines if not SPARSE.search(line)), where
                ),
                "sparse": find_warnings(
                    "\n".join(
                        line.replace("error:", "warning:") for line in lines if SPARSE.search(line)
                    ),
                    where,
                ),
            }

        names = files or Compilation(self.options, self.trees, self.trees.series, target).files
        config = target.choose(not files)
        parts = [config.text(), config.tools.version(), ask_version(str(sparse)), *names]
        return self.keep_by_code("checked", commit, parts, make)  # type: ignore[no-any-return]


class Checked(Compilation):
    """Objects that sparse checks too. said holds all messages so far."""

    def __init__(
        self,
        options: Options,
        trees: Trees,
        source: Path,
        checker: Path,
        target: Target,
        files: Sequence[str],
    ) -> None:
        super().__init__(options, trees, source, target, files)
        self.checker, self.said = checker, ""

    def make(self, *targets: str, jobs: int | None = None) -> str:
        """Return what make, the compiler and sparse say.

        Raises UserError when a file does not compile, or when make left sparse out.
        """
        said = super().make("C=1", f"CHECK={self.checker} {PREFIX}", *targets, jobs=jobs)
        if "not available or not up to date" in said:
            raise UserError(f"the kernel does not accept {self.checker}: remove it")
        self.said += said
        return said


def compare_warnings(before: list[str], after: list[str]) -> Verdict:
    """Return the verdict on a tool's messages before and after a patch; new ones are findings."""
    return Verdict(find_added(before, after), f"{len(before)} -> {len(after)}")
