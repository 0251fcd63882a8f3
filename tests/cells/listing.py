# SPDX-License-Identifier: GPL-2.0
"""`make list`: the cells of the matrix, and whether make test runs them, by any Python.

A boot is a cell of test_boots.py, as guest/ says. Of the other tests only the source is read, so
those with parameters are one line, with the names or with what gives them.
"""

import ast
from collections.abc import Iterator

from cells.boots import list_cells, read_boots
from harness.core import ROOT, run_program

FULL = "pytest.mark.full"


def name_values(values: ast.expr) -> str:
    """Return the values of a parameter if they are told literally, or else their source."""
    try:
        told = ast.literal_eval(values)
    except ValueError:
        return ast.unparse(values)
    simple = all(isinstance(one, str | int) for one in told)
    return ", ".join(map(str, told)) if simple else f"{len(told)} cases"


def list_tests() -> Iterator[tuple[str, str]]:
    """Yield which of make test and make test-all runs a test, and the test's name."""
    for file in sorted((ROOT / "tests/matrix").glob("test_*.py")):
        body, shared = ast.parse(file.read_text()).body, list[ast.expr]()
        for node in body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
                shared = node.value.elts if isinstance(node.value, ast.List) else [node.value]
            if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
                continue
            marks = [*node.decorator_list, *shared]
            told = list(map(ast.unparse, marks))
            some = any(FULL in mark or "choose(" in mark for mark in told)
            name = f"tests/matrix/{file.name}::{node.name}"
            if values := [
                name_values(mark.args[1]) for mark in marks if isinstance(mark, ast.Call)
            ]:
                name += f"[{'; '.join(values)}]"
            yield "test-all" if FULL in told else "partly" if some else "test", name


def list_all() -> Iterator[tuple[str, str]]:
    """Yield the same of each boot, and of all tests that are no boot."""
    for name, cell in list_cells(read_boots()).items():
        label = "test" if cell.boot.in_make_test else "test-all"
        yield label, f"tests/matrix/test_boots.py::test_boot[{name}]"
    yield from (told for told in list_tests() if "::test_boot[" not in told[1])


if __name__ == "__main__":
    run_program(lambda: print("\n".join(f"{label:8}  {name}" for label, name in list_all())))
