# SPDX-License-Identifier: GPL-2.0
"""Our own C programs, by the base's checkpatch.pl."""

from concurrent.futures import Future
from pathlib import Path

import pytest

from harness.core import folders
from review import scripts
from support import Builder, start_all

SOURCES = sorted(
    path
    for folder in ("replay", "probes", "guest")
    for path in (folders.ROOT / folder).rglob("*.[ch]")
)
# What does not hold for programs of user space.
KERNEL_ONLY = (
    "AVOID_EXTERNS,BIT_MACRO,CAMELCASE,INCLUDE_LINUX,PREFER_DEFINED_ATTRIBUTE_MACRO,"
    "PREFER_KERNEL_TYPES,STATIC_CONST_CHAR_ARRAY,STRCPY,VOLATILE"
)
# Words of a text that are also the name of the function, macros whose argument is a name, formats
# with many lines, lines of assembly, arrays as large as the kernel's, registers set alike, macros
# that declare, an else in front of an #endif, macros that take one field of many.
MEANT = (
    "COMPLEX_MACRO,EMBEDDED_FUNCTION_NAME,MACRO_ARG_REUSE,SPLIT_STRING,LEADING_SPACE,NR_CPUS,"
    "MULTIPLE_ASSIGNMENTS,SUSPECT_CODE_INDENT,MACRO_ARG_UNUSED"
)


@pytest.fixture(scope="module")
def complaints(builder: Builder, request: pytest.FixtureRequest) -> dict[Path, "Future[list[str]]"]:
    words = ("--file", f"--ignore={KERNEL_ONLY},{MEANT}")
    return start_all(
        request,
        "test_checkpatch_of_our_c",
        lambda source: scripts.run_checkpatch(builder.trees.base, source, *words),
    )


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_checkpatch_of_our_c(source: Path, complaints: dict[Path, "Future[list[str]]"]) -> None:
    assert complaints[source].result() == []
