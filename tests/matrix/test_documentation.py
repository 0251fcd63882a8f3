# SPDX-License-Identifier: GPL-2.0
"""The series' documentation builds, and names what exists."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from harness.cells import warnings
from harness.core import command, progress
from harness.kernel import tree
from support import PATCHES, Builder

pytestmark = pytest.mark.full

FOLDERS = "mm core-api"
NEW = re.compile(r"^--- /dev/null\n\+\+\+ b/(Documentation/\S+\.rst)$", re.M)
PAGES = [page for patch in PATCHES for page in NEW.findall(patch.read_text())]
MENTIONED = re.compile(r"\b(\w+)\(\)|\b(CONFIG_\w+)")
# In it, the kernel's scripts use this Python and write no bytecode.
ENVIRONMENT = {
    "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    "PYTHONDONTWRITEBYTECODE": "1",
}


def added(trees: tree.Trees, base: str, series: str) -> list[str]:
    """Return the lines that only the series' output has, without line numbers and tree paths."""
    plain = (
        warnings.strip_lines(output.replace(f"{path}/", "").splitlines())
        for output, path in ((base, trees.base), (series, trees.series))
    )
    return warnings.find_added(*plain)


@pytest.fixture(scope="module")
def docs(builder: Builder) -> tuple[Path, list[str]]:
    """The HTML folder of the series, and what Sphinx said that it did not say of the base.

    Both are built from scratch: Sphinx says nothing about a page that it built before. Without
    Sphinx, make succeeds, and the tests of the functions fail.
    """
    assert PAGES
    outputs = []
    for source in (builder.trees.base, builder.trees.series):
        out = builder.options.build / f"docs/{source.name}"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        what = f"htmldocs of {FOLDERS} ({source.name})"
        progress.announce(what)
        make = ["make", "--no-print-directory", f"O={out}", "htmldocs"]
        make += [f"SPHINXDIRS={FOLDERS}", f"SPHINXOPTS=-j{builder.options.jobs}"]
        outputs.append(command.run(make, what, log=out / "log", env=ENVIRONMENT, cwd=source))
    return out / "Documentation/output", added(builder.trees, *outputs)


def test_no_new_warning_from_sphinx(docs: tuple[Path, list[str]]) -> None:
    assert docs[1] == []


@pytest.mark.parametrize("function", ["memcpy_nt", "memcpy_nt_drain"])
def test_function_is_rendered(docs: tuple[Path, list[str]], function: str) -> None:
    page = docs[0] / "core-api/kernel-api.html"
    assert f'id="c.{function}"' in page.read_text()


@pytest.mark.parametrize("page", PAGES)
def test_page_names_what_exists(builder: Builder, page: str) -> None:
    """The series' tree has each function and each option that a page mentions."""
    series = builder.trees.series
    mentioned = [match[1] or match[2] for match in MENTIONED.finditer((series / page).read_text())]
    assert mentioned
    functions = command.git(
        series, "grep", "-ohwE", "|".join(mentioned), "--", "mm/*.[ch]", "include/linux"
    ).split()
    symbols = command.git(series, "grep", "-hE", "^(menu)?config ", "--", "*Kconfig*").split()
    assert sorted(set(mentioned) - set(functions) - {f"CONFIG_{name}" for name in symbols}) == []


def test_no_new_broken_reference(builder: Builder) -> None:
    def check_references(source: Path) -> str:
        script = "tools/docs/documentation-file-ref-check"
        return command.run([script], script, cwd=source, env=ENVIRONMENT)

    trees = builder.trees
    assert added(trees, *map(check_references, (trees.base, trees.series))) == []
