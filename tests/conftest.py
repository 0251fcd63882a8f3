# SPDX-License-Identifier: GPL-2.0
"""What several test files share: the real trees, a toy repository, a stand-in for QEMU."""

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from harness.core import command, folders, options
from harness.kernel import export, source
from support import Builder, start_all

sys.dont_write_bytecode = True


@pytest.fixture(scope="session")
def builder() -> Iterator[Builder]:
    """The real trees, with the build folder locked until the last test.

    Each test names its own architecture and configuration: ARCH= and CONFIG= are for others.
    """
    chosen = options.read_options({**os.environ, "ARCH": "", "CONFIG": ""})
    with folders.lock_build(chosen.build):
        yield Builder(chosen)


@pytest.fixture(scope="module")
def mutants(builder: Builder, request: pytest.FixtureRequest) -> dict[str, "Future[Path]"]:
    """PROGRAM of a module, with each of its FAULTS that its test_fault_is_found asks for."""
    program, faults = request.module.PROGRAM, request.module.FAULTS
    return start_all(
        request, "test_fault_is_found", lambda name: builder.mutant(program, name, faults[name])
    )


@pytest.fixture
def one_cpu() -> Iterator[None]:
    """Let the test, and what it starts, run on one CPU only."""
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cpus)})
    yield
    os.sched_setaffinity(0, cpus)


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A repository that looks like kernel 7.3.0-rc7, with the tag and three commits after it."""
    repository = tmp_path / "toy"
    repository.mkdir()
    command.git(repository, "init", "-q", "-b", "main")
    (repository / "Makefile").write_text(
        "# SPDX\nVERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 0\nEXTRAVERSION = -rc7\n"
    )
    (repository / "mm.c").write_text("".join(f"line {n};\n" for n in range(20)))
    (repository / "mm").mkdir()
    (repository / "mm/mm_init.c").write_text("void memmap_init_zone_device(void)\n{\n}\n")
    command.git(repository, "add", ".")
    command.git(repository, "commit", "-q", "-m", "base")
    command.git(repository, "tag", "v7.3-rc7")
    for number, line in enumerate((3, 9, 15), 1):
        (repository / "mm.c").write_text(
            (repository / "mm.c").read_text().replace(f"line {line};", f"better {line};")
        )
        message = f"mm: improve line {line}\n\nBecause of {number}."
        author = "--author=A U Thor <author@example.org>"
        command.git(repository, "commit", "-q", "-a", "-m", message, author)
    return repository


@pytest.fixture
def toy_series(toy: Path, tmp_path: Path) -> Path:
    """A series/ folder of two topics, `a` with a cover letter and two patches and `b` with one."""
    series = tmp_path / "series"
    for topic, commits in (("a", "v7.3-rc7..HEAD~1"), ("b", "HEAD~1..HEAD")):
        command.git(toy, *export.FORMAT_PATCH.split(), "-o", series / topic, commits)
    (series / "b/0000-cover-letter.patch").unlink()
    (series / "stack").write_text("# the lowest first\na\nb\n")
    cover = series / "a/0000-cover-letter.patch"
    cover.write_text(
        cover.read_text()
        .replace("*** SUBJECT HERE ***", "mm: improve lines")
        .replace("*** BLURB HERE ***", "They were not good.")
    )
    return series


@pytest.fixture
def toy_options(toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> options.Options:
    """The options that use the toy as the base and build beside it; a toy needs little disk."""
    monkeypatch.setattr(source, "DISK_GIB", 0.1)
    (tmp_path / "build").mkdir()
    return options.read_options({"LINUX": str(toy), "BUILD": str(tmp_path / "build")})


@pytest.fixture
def qemu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put a stand-in for QEMU first in PATH, and return a function that gives it a script.

    The stand-in writes its process id to the file pid.
    """
    program = tmp_path / "bin/qemu-system-x86_64"
    program.parent.mkdir()
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    def fill(script: str) -> None:
        program.write_text(f"#!/bin/sh\necho $$ >{tmp_path}/pid\n{script}\n")
        program.chmod(0o755)

    return fill
