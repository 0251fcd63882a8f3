# SPDX-License-Identifier: GPL-2.0
"""`make list`: the cells of the matrix, and whether make test runs them, by any Python.

A boot is a cell of test_boots.py, as guest/ says, and is listed with its scripts. Of the other
tests only the source is read, so those with parameters are one line.
"""

import ast
from collections.abc import Iterator

from harness.cells.boots import list_cells, read_boots
from harness.core import ROOT, run_program

FULL = "pytest.mark.full"


def list_tests() -> Iterator[tuple[str, str]]:
    """Yield which of make test and make test-all runs a test, and the test's name."""
    for file in sorted((ROOT / "tests/matrix").glob("test_*.py")):
        shared: list[ast.expr] = []
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
                shared = node.value.elts if isinstance(node.value, ast.List) else [node.value]
            if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
                continue
            marks = [ast.unparse(mark) for mark in (*node.decorator_list, *shared)]
            some = any(FULL in mark or "choose(" in mark for mark in marks)
            label = "test-all" if FULL in marks else "partly" if some else "test"
            yield label, f"tests/matrix/{file.name}::{node.name}"


def list_all() -> Iterator[tuple[str, str]]:
    """Yield the same of each boot, with its scripts, and of all tests that are no boot."""
    for name, cell in list_cells(read_boots()).items():
        label = "test" if cell.boot.in_make_test else "test-all"
        yield label, f"tests/matrix/test_boots.py::test_boot[{name}]  {cell.boot.scripts}"
    yield from (told for told in list_tests() if not told[1].endswith("::test_boot"))


if __name__ == "__main__":
    run_program(lambda: print("\n".join(f"{label:8}  {name}" for label, name in list_all())))
