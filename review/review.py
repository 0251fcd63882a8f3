# SPDX-License-Identifier: GPL-2.0
"""`make review`: what the series' reviewers and their robots would say, one line for each patch and check.

Every check compares with the base, or with the patch before: only what the
series adds is a finding. A check that could not be run is one too.
"""

import dataclasses
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from checks.messages import CODE
from checks.objects import SANITIZERS, Architecture
from harness.kernels import kernels
from harness.options import Options, start
from harness.process import Fault, git, run, say
from harness.steps import Step, steps
from harness.tree import Tree, topics, tree
from review import lint, scripts
from review.backport import backport
from review.builds import Builds, new_warnings
from review.cocci import coccicheck
from review.verdict import Skip, Verdict, kept

# The checks of one patch by its files; each takes the home of the worktrees and the step.
FILES: dict[str, Callable[[Path, Step], Verdict]] = {
    "white space": scripts.whitespace,
    "kernel-doc": scripts.compared(scripts.kernel_doc),
    "includecheck": scripts.compared(scripts.includes),
    "shellcheck": scripts.compared(scripts.shell),
    "MAINTAINERS": scripts.maintainers,
}
MAIL: dict[str, Callable[[str], list[str]]] = {"subject": lint.about_subject, "message": lint.about_body, "tags": lint.about_tags}


@dataclass
class Table:
    """The lines of a review as they come in, printed at once."""

    good: int = 0
    findings: list[str] = field(default_factory=list)
    skips: list[str] = field(default_factory=list)

    def check(self, about: str, name: str, make: Callable[[], Verdict]) -> None:
        """Run a check and print its line; a Fault in it is a finding."""
        what = f"{about:<24} {name:<16}"
        try:
            verdict = make()
        except Skip as reason:
            self.skips.append(f"{what} {reason}")
            say(f"{what} SKIPPED: {reason}")
            return
        except Fault as fault:
            verdict = Verdict([f"could not be checked: {fault}", *fault.shown])
        self.good += not verdict.findings
        note = f" ({verdict.note})" if verdict.note else ""
        say(f"{what} {'FOUND ' + str(len(verdict.findings)) if verdict.findings else 'ok'}{note}")
        for finding in verdict.findings:
            print(f"         {finding}", flush=True)
            self.findings.append(f"{what} {finding}")

    def end(self) -> None:
        """Print the summary; Raises Fault if there are findings."""
        print()
        for title, lines in (("findings", self.findings), ("skipped", self.skips)):
            for line in lines:
                print(f"{title}: {line}")
        bad = len({line[:41] for line in self.findings})
        say(f"{self.good + bad + len(self.skips)} checks: {self.good} ok, {bad} with {len(self.findings)} findings, {len(self.skips)} skipped")
        if self.findings:
            raise Fault(f"the review has {len(self.findings)} findings: mend them in the branch `series` and run 'make export'")


def mails(series: list[Path]) -> Iterator[tuple[str, Path]]:
    """Yield the name and the file of each cover letter and patch."""
    for topic in series:
        for mail in sorted(topic.glob("[0-9]*.patch")):
            yield f"{topic.name}/{mail.name[:4]}", mail


def by_reading(table: Table, options: Options, home: Path, stack: list[Path], patches: list[Step]) -> None:
    """Run the checks that only read: of each mail, then of each patch's files."""
    base, store = git(home / "base", "rev-parse", "base"), options.build / "review"
    code = Path(scripts.__file__).read_bytes() + CODE
    for about, mail in mails(stack):
        text = mail.read_text()
        for name, look in MAIL.items():
            table.check(about, name, lambda: Verdict(look(text)))
        table.check(about, "checkpatch", lambda: Verdict(
            kept(store, "checkpatch", (code, base, text), lambda: scripts.checkpatch(home / "base", mail))))
    for one in patches:
        key: list[str | bytes] = [code, base, git(home / "base", "rev-parse", f"{one.parent}^{{tree}}", f"{one.commit}^{{tree}}")]
        for name, judge in FILES.items():
            table.check(one.name, name, lambda: Verdict(
                **kept(store, name.replace(" ", "-"), key, lambda: dataclasses.asdict(judge(home, one)))))


def vm(builds: Builds, one: Step) -> Verdict:
    """Build and boot the VM's kernel, rebind, run the KUnit suites that exist by then."""
    made = builds.vm(one.commit, f"the VM's kernel at {one.name}")
    suites = f"KUnit: {made['cases']} cases of {', '.join(made['suites'])}" if made["suites"] else "no KUnit suite yet"
    return Verdict(made["warnings"], f"bzImage; boots; both drivers rebound; {suites}")


def nothing(builds: Builds, one: Step) -> Verdict:
    """Build the touched folders with allnoconfig."""
    return Verdict(builds.folders(one.commit, "none", "", f"mm, lib, arch/x86/lib with allnoconfig at {one.name}"))


def without(builds: Builds, one: Step) -> Verdict:
    """Build the touched folders without ZONE_DEVICE."""
    fragment = builds.without_zone_device(one.commit)
    return Verdict(builds.folders(one.commit, "off", fragment, f"mm, lib, arch/x86/lib without ZONE_DEVICE at {one.name}"))


def before_and_after(builds: Builds, one: Step, what: str) -> Iterator[Any]:
    """Yield what is known of the touched objects before and after a patch."""
    for commit, at in ((one.parent, "before"), (one.commit, "after")):
        yield builds.checked(commit, f"the touched objects {at} {one.name}")[what]


def messages(tool: str) -> Callable[[Builds, Step], Verdict]:
    """Return the check that compares what the compiler at W=1, or sparse, says."""
    return lambda builds, one: new_warnings(*before_and_after(builds, one, tool))


def page(builds: Builds, one: Step) -> Verdict:
    """Compare the size of struct page."""
    before, after = before_and_after(builds, one, "page")
    return Verdict([f"struct page grows from {before} to {after} bytes"] * (after > before), f"{before} -> {after} bytes")


def sanitizers(builds: Builds, one: Step) -> Iterator[tuple[str, Callable[[], Verdict]]]:
    """Yield the check of each sanitizer's own test that a patch touches."""
    for folder, architecture in SANITIZERS.items():
        names = [name for name in lint.files(one.patch.read_text()) if name.startswith(folder) and name.endswith(".c")]
        if names:
            def check(architecture: Architecture = architecture, names: list[str] = names) -> Verdict:
                before, after = (builds.checked(commit, f"{names[0]} {at} {one.name}", architecture, names)
                                 for commit, at in ((one.parent, "before"), (one.commit, "after")))
                return new_warnings(before["gcc"] + before["sparse"], after["gcc"] + after["sparse"])

            yield folder.split("/")[1].upper(), check


BUILT: dict[str, Callable[[Builds, Step], Verdict]] = {
    "VM and KUnit": vm,
    "allnoconfig": nothing,
    "ZONE_DEVICE off": without,
    "W=1": messages("gcc"),
    "sparse": messages("sparse"),
    "struct page": page,
}


def bloat(options: Options, trees: Tree) -> Verdict:
    """Say how the kernel's size changes, by scripts/bloat-o-meter over both kernels of `make bench`; that is no finding."""
    base, series = (kernel.image.parent / "vmlinux" for kernel in kernels(options, trees))
    said = run([trees.base / "scripts/bloat-o-meter", base, series], "bloat-o-meter").splitlines()
    total = re.search(r"Before=(\d+), After=(\d+), chg (\S+)", said[-1])
    if not total:
        raise Fault(f"bloat-o-meter said {said[-1] if said else 'nothing'}")
    return Verdict(note=f"vmlinux {total[1]} -> {total[2]}, {total[3]}; {said[0]}")


def review(options: Options) -> None:
    """Run every check over series/ and print the table; Raises Fault if anything was found."""
    # Whatever make bench is to measure, this boots x86-64.
    options = dataclasses.replace(options, arch="x86_64")
    trees, stack, table = tree(options), topics(), Table()
    home = trees.base.parent
    patches = steps(home)
    table.check("series", "applies to base", lambda: Verdict(note=git(trees.base, "log", "-1", "--format=%s", "base")))
    by_reading(table, options, home, stack, patches)
    table.check("series", "coccicheck", lambda: coccicheck(options, trees))
    table.check("series", "older kernel", lambda: backport(options, trees, patches))
    builds = Builds(options, trees)
    for one in patches:
        for name, judge in BUILT.items():
            table.check(one.name, name, lambda: judge(builds, one))
        for name, check in sanitizers(builds, one):
            table.check(one.name, name, check)
    table.check("series", "bloat-o-meter", lambda: bloat(options, trees))
    table.end()


if __name__ == "__main__":
    start(review)
