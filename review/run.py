# SPDX-License-Identifier: GPL-2.0
"""`make review`: check the series as its reviewers and their robots would.

It prints one line for each patch and check. Every check compares with the base or with the patch
before, so only what the series adds is a finding. A check that cannot run is a finding too.
"""

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from checks.compile import SANITIZERS, Target
from harness.core.command import git
from harness.core.errors import UserError
from harness.core.options import Options
from harness.core.progress import say
from harness.core.stages import run_stage
from harness.kernel.config import KernelConfig
from harness.kernel.export import is_rfc
from harness.kernel.patches import Patch, list_patches
from harness.kernel.topics import list_topics
from harness.kernel.tree import apply_series
from review import lint, scripts
from review.backport import check_backport
from review.builds import Builds, compare_warnings
from review.cocci import check_semantics
from review.verdict import Skip, Verdict, keep_result

# The checks of the files of a patch. Each takes the folder of the worktrees and the patch.
FILES: dict[str, Callable[[Path, Patch], Verdict]] = {
    "kernel-doc": scripts.make_tool_check(scripts.run_kernel_doc),
    "includecheck": scripts.make_tool_check(scripts.run_checkincludes),
    "shellcheck": scripts.make_tool_check(scripts.run_shellcheck),
    "MAINTAINERS": scripts.check_maintainers,
}
# The checks of a mail. Each takes its text.
MAIL: dict[str, Callable[[str], list[str]]] = {
    "subject": lint.judge_subject,
    "tags": lint.judge_tags,
}


@dataclass
class Table:
    """The results of a review, each of which is printed at once."""

    good: int = 0
    bad: int = 0
    findings: list[str] = field(default_factory=list)
    skips: list[str] = field(default_factory=list)

    def check(self, about: str, name: str, make: Callable[[], Verdict]) -> None:
        """Run a check and print its line. A UserError in it is a finding."""
        what = f"{about:<24} {name:<16}"
        try:
            verdict = make()
        except Skip as reason:
            self.skips.append(f"{what} {reason}")
            say(f"{what} SKIPPED: {reason}")
            return
        except UserError as error:
            verdict = Verdict([f"could not be checked: {error}", *error.shown])
        self.good += not verdict.findings
        self.bad += bool(verdict.findings)
        note = f" ({verdict.note})" if verdict.note else ""
        say(f"{what} {'FOUND ' + str(len(verdict.findings)) if verdict.findings else 'ok'}{note}")
        for finding in verdict.findings:
            print(f"         {finding}", flush=True)
            self.findings.append(f"{what} {finding}")

    def print_summary(self) -> None:
        """Print the summary.

        Raises UserError when there are findings.
        """
        print()
        for title, lines in (("findings", self.findings), ("skipped", self.skips)):
            for line in lines:
                print(f"{title}: {line}")
        say(
            f"{self.good + self.bad + len(self.skips)} checks: {self.good} ok, "
            f"{self.bad} with {len(self.findings)} findings, {len(self.skips)} skipped"
        )
        if self.findings:
            raise UserError(
                f"the review has {len(self.findings)} findings: "
                "fix them in the branch `series` and run 'make export'"
            )


def list_mails(series: list[Path]) -> Iterator[tuple[str, Path]]:
    """Yield the name and the file of each cover letter and patch."""
    for topic in series:
        for mail in sorted(topic.glob("[0-9]*.patch")):
            yield f"{topic.name}/{mail.name[:4]}", mail


def run_reading_checks(
    table: Table, options: Options, worktrees: Path, stack: list[Path], patches: list[Patch]
) -> None:
    """Run the checks that build nothing: on each mail, then on the files of each patch."""
    base, store = git(worktrees / "base", "rev-parse", "base"), options.build / "review"
    for about, mail in list_mails(stack):
        text = mail.read_text()
        for name, look in MAIL.items():
            table.check(about, name, lambda: Verdict(look(text)))
        table.check(
            about,
            "checkpatch",
            lambda: Verdict(
                keep_result(
                    store,
                    "checkpatch",
                    (base, text),
                    lambda: scripts.run_checkpatch(worktrees / "base", mail),
                    ("codespell",),
                )
            ),
        )
    for patch in patches:
        key: list[str | bytes] = [
            base,
            git(
                worktrees / "base",
                "rev-parse",
                f"{patch.parent}^{{tree}}",
                f"{patch.commit}^{{tree}}",
            ),
        ]
        for name, judge in FILES.items():
            table.check(
                patch.name,
                name,
                lambda: Verdict(
                    **keep_result(
                        store,
                        name,
                        key,
                        lambda: dataclasses.asdict(judge(worktrees, patch)),
                        [name] * (name == "shellcheck"),
                    )
                ),
            )


def check_vm(builds: Builds, patch: Patch) -> Verdict:
    """Build and boot the VM's kernel, rebind, and run the KUnit suites that the patch has."""
    made = builds.boot_vm(patch.commit, f"the VM's kernel at {patch.name}")
    suites = f"KUnit: {made['cases']} cases of {', '.join(made['suites'])}"
    return Verdict(made["warnings"], f"bzImage; boots; both drivers rebound; {suites}")


def check_allnoconfig(builds: Builds, patch: Patch) -> Verdict:
    """Build mm/, lib/ and arch/x86/lib/ with allnoconfig."""
    what = f"mm, lib, arch/x86/lib with allnoconfig at {patch.name}"
    return Verdict(builds.build_folders(patch.commit, KernelConfig("none"), what))


def check_without_zone_device(builds: Builds, patch: Patch) -> Verdict:
    """Build mm/, lib/ and arch/x86/lib/ without ZONE_DEVICE."""
    what = f"mm, lib, arch/x86/lib without ZONE_DEVICE at {patch.name}"
    return Verdict(
        builds.build_folders(
            patch.commit, builds.make_config_without_zone_device(patch.commit), what
        )
    )


def compile_both(builds: Builds, patch: Patch, what: str) -> Iterator[Any]:
    """Yield one result of Builds.checked(), named what, before and after a patch."""
    for commit, at in ((patch.parent, "before"), (patch.commit, "after")):
        yield builds.compile_checked(commit, f"the touched objects {at} {patch.name}")[what]


def make_message_check(tool: str) -> Callable[[Builds, Patch], Verdict]:
    """Return the check that compares the messages of a tool: gcc (with W=1) or sparse."""
    return lambda builds, patch: compare_warnings(*compile_both(builds, patch, tool))


def check_sanitizers(builds: Builds, patch: Patch) -> Iterator[tuple[str, Callable[[], Verdict]]]:
    """Yield a name and a check for each sanitizer whose own tests a patch touches."""
    for folder, target in SANITIZERS.items():
        names = [
            name
            for name in lint.list_touched(patch.patch.read_text())
            if name.startswith(folder) and name.endswith(".c")
        ]
        if names:

            def check(target: Target = target, names: list[str] = names) -> Verdict:
                before, after = (
                    builds.compile_checked(commit, f"{names[0]} {at} {patch.name}", target, names)
                    for commit, at in ((patch.parent, "before"), (patch.commit, "after"))
                )
                return compare_warnings(
                    before["gcc"] + before["sparse"], after["gcc"] + after["sparse"]
                )

            yield folder.split("/")[1].upper(), check


BUILT: dict[str, Callable[[Builds, Patch], Verdict]] = {
    "VM and KUnit": check_vm,
    "allnoconfig": check_allnoconfig,
    "ZONE_DEVICE off": check_without_zone_device,
    "W=1": make_message_check("gcc"),
    "sparse": make_message_check("sparse"),
}


def run_review(options: Options) -> None:
    """Run every check over series/ and print the table.

    Raises UserError when there are findings.
    """
    # ARCH= is for make bench. The review always boots x86-64.
    options = dataclasses.replace(options, arch="x86_64")
    trees, stack, table = apply_series(options), list_topics(), Table()
    worktrees = trees.base.parent
    patches = list_patches(worktrees)
    table.check(
        "series",
        "applies to base",
        lambda: Verdict(note=git(trees.base, "log", "-1", "--format=%s", "base")),
    )
    run_reading_checks(table, options, worktrees, stack, patches)
    table.check("series", "coccicheck", lambda: check_semantics(options, trees))
    # Only what is to be merged, not what is sent for comments.
    ready = [patch for patch in patches if not is_rfc(patch.patch.parent)]
    table.check("series", "older kernel", lambda: check_backport(options, trees, ready))
    builds = Builds(options, trees)
    for patch in patches:
        for name, judge in BUILT.items():
            table.check(patch.name, name, lambda: judge(builds, patch))
        for name, check in check_sanitizers(builds, patch):
            table.check(patch.name, name, check)
    table.print_summary()


if __name__ == "__main__":
    run_stage(run_review)
