# SPDX-License-Identifier: GPL-2.0
"""Apply the series to the stable kernel before its base: Debian's linux-source-7.2."""

from pathlib import Path

from checks.compile import X86_64, Compilation
from harness.core.cache import replace, scratch
from harness.core.command import git
from harness.core.debian import Apt
from harness.core.errors import UserError
from harness.core.folders import need_disk
from harness.core.options import Options
from harness.core.progress import announce
from harness.kernel import source
from harness.kernel.tree import Trees, drop_worktree

RELEASE = "7.2"
PACKAGE = f"linux-source-{RELEASE}"
SUITES = ("sid", "trixie-backports")


def prepare_stable(options: Options) -> Path:
    """Return the repository of the older kernel, and fetch it into build/source-7.2 if needed.

    Raises NotOffered when Debian no longer has it, UserError when it cannot be fetched.
    """
    folder = options.build / f"source-{RELEASE}"
    if not folder.exists():
        need_disk(options.build, source.DISK_GIB, f"the source of {PACKAGE}")
        with scratch(options.build / "apt.tmp") as fetched, replace(folder) as new:
            new.mkdir()
            source.unpack_package(Apt(fetched), new / "base", PACKAGE, SUITES)
    return folder / "base"


def apply_patches(where: Path, patches: list[Path]) -> None:
    """Apply patches in the worktree where; Raises UserError when one does not apply."""
    start = git(where, "rev-parse", "HEAD")
    try:
        git(where, "am", "-q", "-3", *patches)
    except UserError:
        names = git(where, "diff", "--name-only", "--diff-filter=U").split()
        bad = patches[int(git(where, "rev-list", "--count", f"{start}..HEAD"))]
        git(where, "am", "--abort")
        raise UserError(
            f"{bad.name} does not apply, even with git am -3: conflict in {', '.join(names)}"
        ) from None


def check_backport(options: Options, trees: Trees, patches: list[Path]) -> list[str]:
    """Apply the patches to the older kernel, and return the warnings of what they touch there."""
    repository = prepare_stable(options)
    release = source.read_version((repository / "Makefile").read_text())
    announce(f"applying the series to {release}")
    # As in a clone that has both kernels: git am -3 finds the files that the patches were made
    # from.
    (repository / ".git/objects/info/alternates").write_text(f"{trees.base / '.git/objects'}\n")
    where = repository.parent / "backport"
    drop_worktree(repository, where)
    git(repository, "worktree", "add", "-q", "--detach", where, "base")
    apply_patches(where, patches)
    announce(f"compiling the touched objects on {release}")
    objects = Compilation(options, trees, where, X86_64)
    objects.configure(True)
    made, warnings = objects.compile()
    drop_worktree(repository, where)
    lacking = [f"{name} was not built" for name in ("mm/mm_init.o",) if name not in made]
    return [*warnings, *lacking]
