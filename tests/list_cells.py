# SPDX-License-Identifier: GPL-2.0
"""`make list`: the cells of the matrix, by any Python: what stands in for pytest only names tests.

tests/unit/test_looking.py compares that with what pytest itself collects.
"""

import importlib
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from unittest.mock import MagicMock

TESTS = Path(__file__).parent
Decorator = Callable[[Any], Any]


class Value(NamedTuple):
    """A value of a parameter, or of several, its marks, and the name that it is given."""

    values: tuple[Any, ...]
    marks: Any = ()
    id: str = ""


def full(test: Any) -> Any:
    """Mark a test as one that only make test-all runs."""
    return add_cells(test, [("", True)])


def add_cells(test: Any, cells: list[tuple[str, bool]]) -> Any:
    """Add to what a test is called with: the name of each value, and whether it is full."""
    test.cells = [*getattr(test, "cells", []), cells]
    return test


def name_value(name: str, number: int, value: object) -> str:
    """Return how pytest names a value."""
    if isinstance(value, str | int | float | None):
        return str(value).encode("unicode_escape").decode()
    return f"{name}{number}"


def parametrize(names: Any, values: Iterable[Any], ids: Any = None) -> Decorator:
    """Stand in for pytest.mark.parametrize."""
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    cells = []
    for number, one in enumerate(values):
        value = one if isinstance(one, Value) else Value((one,) if len(keys) == 1 else tuple(one))
        told = [
            ids(each) if ids else name_value(key, number, each)
            for key, each in zip(keys, value.values, strict=True)
        ]
        cells.append((value.id or "-".join(told), value.marks in (full, [full])))
    return lambda test: add_cells(test, cells)


def stand_in() -> ModuleType:
    """Return what test files take for pytest."""
    pytest = MagicMock()
    pytest.mark.full, pytest.mark.parametrize = full, parametrize
    pytest.param = lambda *values, **more: Value(values, **more)
    return pytest


def list_cells() -> Iterator[tuple[bool, str]]:
    """Yield whether a cell is full, and its name."""
    for file in sorted((TESTS / "matrix").glob("test_*.py")):
        module = importlib.import_module(f"matrix.{file.stem}")
        marks = getattr(module, "pytestmark", [])
        for name, test in vars(module).items():
            if not name.startswith("test_"):
                continue
            for mark in marks if isinstance(marks, list) else [marks]:
                mark(test)
            for cells in itertools.product(*getattr(test, "cells", [])):
                told = "-".join(label for label, _ in cells if label)
                where = f"tests/matrix/{file.name}::{name}" + f"[{told}]" * bool(told)
                yield any(is_full for _, is_full in cells), where


if __name__ == "__main__":
    sys.modules["pytest"] = stand_in()
    sys.path.insert(0, str(TESTS))
    for is_full, cell in sorted(list_cells()):
        print(f"{'test-all' if is_full else 'test':8}  {cell}")
