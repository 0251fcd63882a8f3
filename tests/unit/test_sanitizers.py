# SPDX-License-Identifier: GPL-2.0
"""Which races count."""

from pathlib import Path

import pytest

from cells import sanitizers
from harness.core import command
from harness.kernel.images import Kernel
from harness.kernel.tree import Trees


@pytest.mark.parametrize(
    ("functions", "foreign"),
    [
        ("padata_mt_helper / padata_do_multithreaded", False),
        ("xas_store+0x1/0x2 / padata_mt_helper+0x3/0x4", False),
        ("xas_store / xas_find", True),
        ("test_memcpy_nt", False),
    ],
)
def test_races_in_each_touched_object_count(
    functions: str, foreign: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "objects/series+kcsan/kernel/padata.o"
    made.parent.mkdir(parents=True)
    (tmp_path / "padata.c").write_text(
        "static int padata_mt_helper(int a) { return a; }\n"
        "int padata_do_multithreaded(int a) { return padata_mt_helper(a); }\n"
    )
    command.run(["gcc", "-c", "-o", made, tmp_path / "padata.c"], "gcc")
    # Not every configuration compiles every file.
    touched = ["kernel/padata.c", "mm/memory_hotplug.c"]
    monkeypatch.setattr(sanitizers, "list_touched", lambda _: touched)
    kernel = Kernel("series+kcsan", "", tmp_path / "kernels/series+kcsan-0123/image")
    own = sanitizers.list_functions(kernel, Trees(tmp_path, tmp_path))
    line = f"[    1.0] BUG: KCSAN: data-race in {functions}"
    assert sanitizers.is_foreign_race(own, line) is foreign
