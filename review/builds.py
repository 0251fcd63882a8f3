# SPDX-License-Identifier: GPL-2.0
"""Each patch built and booted: one worktree walks along the series, and each configuration has a folder of objects beside it.

What depends on a commit is kept by the code of that commit, so a patch that
touches only documentation, or one that did not change, costs nothing.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from checks import kunit, messages
from checks.messages import added, complaints
from checks.objects import X86_64, Architecture, Objects, touched
from harness import program
from harness.accel import accel
from harness.console import said
from harness.guest import Guest, boot
from harness.initramfs import initramfs
from harness.kernels import MEASURED, Kernel, configure, counter
from harness.options import Options
from harness.process import Fault, digest, git, run, step
from harness.steps import checkout
from harness.toolchain import Toolchain
from harness.tree import Tree
from review.sparse import sparse
from review.verdict import Verdict, kept

GIB = 2
SECONDS = 1200
SILENCE = 300
CODE = Path(__file__).read_bytes() + messages.CODE
SUITE = re.compile(r"struct kunit_suite \w+ = \{[^}]*\.name = \"([^\"]+)\"")
RULE = re.compile(r"obj-\$\(CONFIG_(\w+)\)")
# In front of every message of sparse, to tell it from the compiler's.
PREFIX = "-fdiagnostic-prefix=sparse"
SPARSE = re.compile(r"\bsparse: (?:warning|error): ")
FOLDERS = (("mm/", "lib/"), ("arch/x86/lib/",))
SIZE = "#include <linux/mm_types.h>\nchar struct_page[sizeof(struct page)];\n"


def code_of(home: Path, commit: str) -> str:
    """Return what stands for all files of a commit that a kernel is built from."""
    rows = git(home / "base", "ls-tree", commit).splitlines()
    return digest(*(row for row in rows if not row.endswith(("\tDocumentation", "\tMAINTAINERS", "\ttools"))),
                  *(row for row in git(home / "base", "ls-tree", f"{commit}:tools").splitlines() if not row.endswith("\ttesting")))


class Builds:
    """The builds of one run of the review."""

    def __init__(self, options: Options, trees: Tree) -> None:
        self.options, self.trees, self.home = options, trees, trees.base.parent
        self.tools = Toolchain()
        self.kept = options.build / "review"
        self.sparse: Path | None = None
        self.image: Path | None = None

    def keep(self, name: str, commit: str, parts: Sequence[str | bytes], make: Callable[[Path], Any]) -> Any:
        """Return what make makes of the worktree at commit, kept by the code there, the compiler and parts."""
        key = [CODE, code_of(self.home, commit), self.tools.version(), *parts]
        return kept(self.kept, name, key, lambda: make(checkout(self.home, commit)))

    def make(self, where: Path, out: Path, what: str, *words: str, jobs: int | None = None, progress: Callable[[str], None] | None = None) -> list[str]:
        """Return the warnings that make gives without W=; Raises Fault when it fails."""
        log = self.options.build / f"{out.name}.log"
        return complaints(self.tools.make(self.options, where, out, f"building {what}", *words, jobs=jobs, log=log, progress=progress), where)

    def suites(self, commit: str, below: str = "") -> dict[str, str]:
        """Return the KUnit suites of the test files below a folder that the series touches, as far as a commit has them, by Kconfig symbol."""
        base, found = self.home / "base", {}
        names = git(base, "diff", "--name-only", "--diff-filter=AM", "base", "series", "--", f"{below}*_kunit.c").split()
        for name in git(base, "ls-tree", "-r", "--name-only", commit, "--", *names).splitlines() if names else []:
            rule = RULE.search(git(base, "grep", "-h", rf"[ \t/]{Path(name).stem}\.o\b", commit, "--", *(f"{folder}/Makefile" for folder in Path(name).parents)))
            suite = SUITE.search(git(base, "show", f"{commit}:{name}"))
            if not rule or not suite:
                raise Fault(f"{name} is in no Makefile, or names no suite")
            found[rule[1]] = suite[1]
        return found

    def guest(self) -> Path:
        """Return the guest's file system, with the finished series' selftest: each patch has to stand it."""
        self.image = self.image or initramfs(self.options, self.trees.series)
        return self.image

    def vm(self, commit: str, what: str) -> dict[str, Any]:
        """Build the VM's kernel with the KUnit suites of that patch, boot it, rebind both drivers; return warnings, faults and suites."""
        suites = self.suites(commit)
        lines = "".join(f"CONFIG_{symbol}=y\n" for symbol in ("KUNIT", "RUNTIME_TESTING_MENU", *suites))

        def make(where: Path) -> dict[str, Any]:
            out, log = self.options.build / "objects/review-vm", self.options.build / "review-guest.log"
            configure(self.options, self.tools, where, out, MEASURED.text() + lines, what)
            warnings = self.make(where, out, what, "LOCALVERSION=-review", "bzImage", progress=counter(what))
            kernel = Kernel("review", (out / "include/config/kernel.release").read_text().strip(), out / "arch/x86/boot/bzImage")
            step(f"booting {what}")
            guest = Guest(kernel, self.guest(), accel(self.options, kernel, self.guest()), GIB, f"{kunit.RUN} zdm.do=rebind zdm.rebinds=1")
            text = boot(guest, log, lambda _: None, SECONDS, SILENCE)
            # The selftest's results are no suite of KUnit's.
            log.write_text("".join(f"{line}\n" for line in text.split("\n") if not said(line)))
            passed = kunit.parse(self.trees.base, log, sorted(suites.values()), what) if suites else 0
            return {"warnings": warnings, "cases": passed, "suites": sorted(suites.values())}

        return self.keep("vm", commit, [MEASURED.text(), lines, self.guest().read_bytes()], make)  # type: ignore[no-any-return]

    def without_zone_device(self, commit: str) -> str:
        """Return the lines of a configuration with everything that the series touches but ZONE_DEVICE, at that commit."""
        tests = "".join(f"CONFIG_{symbol}=y\n" for symbol in self.suites(commit, "lib/"))
        return X86_64.text(False).replace("CONFIG_KUNIT_ALL_TESTS=y\n", tests)

    def folders(self, commit: str, name: str, fragment: str, what: str) -> list[str]:
        """Build mm/, lib/ and arch/x86/lib/ in a configuration and return the warnings; Raises Fault when something does not build."""

        def make(where: Path) -> list[str]:
            out = self.options.build / f"objects/review-{name}"
            step(f"building {what}")
            configure(self.options, self.tools, where, out, fragment, what)
            found = self.make(where, out, what, "prepare")
            for folders in FOLDERS:
                # A folder of a library is reached on two ways at once, and the two would delete each other's files.
                found += self.make(where, out, what, *folders, jobs=1 if folders[0].startswith("arch/") else None)
            return sorted(found)

        return self.keep(name, commit, [fragment], make)  # type: ignore[no-any-return]

    def checked(self, commit: str, what: str, architecture: Architecture = X86_64, files: Sequence[str] = ()) -> dict[str, Any]:
        """Compile files, or else what the series touches, at W=1 and under sparse.

        Returns both tools' messages, the objects, and the size of struct page.
        Raises Fault when a file does not compile, or sparse cannot be run.
        """

        def make(where: Path) -> dict[str, Any]:
            self.sparse = self.sparse or sparse(self.options, where)
            step(f"checking {what}")
            objects = Checked(self.options, self.trees, where, self.sparse, architecture, files)
            objects.configure(not files)
            objects.said = ""
            made, _ = objects.compile()
            if lacking := [name for name in files or touched(self.trees) if (where / name).exists() and not objects.target(name)]:
                raise Fault(f"{', '.join(lacking)}: no configuration of the review compiles that, see kernels/objects.config")
            lines = objects.said.splitlines()
            return {
                "objects": made,
                "gcc": complaints("\n".join(line for line in lines if not SPARSE.search(line)), where),
                "sparse": complaints("\n".join(line.replace("error:", "warning:") for line in lines if SPARSE.search(line)), where),
                "page": objects.size() if not files else 0,
            }

        names = files or Objects(self.options, self.trees, self.trees.series, architecture).files
        parts = [architecture.text(not files), architecture.tools.version(), *names]
        return self.keep("checked", commit, parts, make)  # type: ignore[no-any-return]


class Checked(Objects):
    """Objects that are checked by sparse too; said is everything that was said."""

    def __init__(self, options: Options, trees: Tree, source: Path, checker: Path, architecture: Architecture, files: Sequence[str]) -> None:
        super().__init__(options, trees, source, architecture, files)
        self.checker, self.said = checker, ""

    def make(self, *targets: str, jobs: int | None = None) -> str:
        """Return what make, the compiler and sparse say; Raises Fault when a file does not compile or sparse was left out."""
        said = super().make("C=1", f"CHECK={self.checker} {PREFIX}", *targets, jobs=jobs)
        if "not available or not up to date" in said:
            raise Fault(f"the kernel does not accept {self.checker}: remove it")
        self.said += said
        return said

    def size(self) -> int:
        """Return the size of struct page in bytes, as mm/mm_init.c sees it."""
        source, made = self.out / "size.c", self.out / "size.o"
        source.write_text(SIZE)
        program.Kernel(self.source, program.DEFAULT, self.out, self.options).compile_like_mm_init(source, made)
        found = re.search(r"^\w+ (\w+) \w struct_page$", run(["nm", "-S", made], "nm size.o"), re.M)
        assert found
        return int(found[1], 16)


def new_warnings(before: list[str], after: list[str]) -> Verdict:
    """Judge the messages of a tool before and after a patch."""
    return Verdict(added(before, after), f"{len(before)} -> {len(after)}")
