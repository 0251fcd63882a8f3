# SPDX-License-Identifier: GPL-2.0
"""What harness/cells/ makes of headers and results: checks, KUnit, races, warnings, two boots."""

import re
from pathlib import Path

import pytest

from harness.cells import boots, kunit, sanitizers, warnings, zones
from harness.core import ROOT, UserError, command
from harness.kernel.images import Kernel
from harness.kernel.toolchain import compile_like_mm_init
from harness.kernel.tree import Trees

# Scripts: one that sources another one, and one with two boots, which runs after it.
HEADERS = {
    "first": '#: words = "a=1 b=1"\n#: cpus = 3\n#: harmless = "cut here"\n. /guest/slow\n',
    "slow": "#: nodes = 2\n#: ram-gib = 4\n",
    "last": '#: after = "first"\n#: ram-gib = 5\n#:\n#: [one]\n#: sides = "each"\n#: words = """\n'
    '#: a=2\n#: """\n#: devices = "x:fsdax:2:1"\n#: [two]\n#: in-make-test = true\n',
}


def test_boots_of_headers(tmp_path: Path) -> None:
    """A boot has what its scripts need, in their order, and what they source."""
    for name, text in HEADERS.items():
        (tmp_path / name).write_text(text)
    read = boots.read_boots(tmp_path)
    cells = boots.list_cells(read)
    assert {name: cell.sides for name, cell in cells.items()} == {
        "one-base": ["base"],
        "one-series": ["series"],
        "two": ["series"],
    }
    first = read["one"]
    assert (first.scripts, first.words) == ("first,last", "a=1 b=1 a=2")
    assert (first.cpus, first.nodes, first.ram_gib, first.config.name) == (3, 2, 5, "tested")
    assert [(str(device), device.node) for device in first.devices] == [("x:fsdax:2M", 1)]
    assert first.harmless("[ cut here ]") and not first.harmless("")
    assert boots.Boot(programs=["sh", "no-such"]).missing() == ["no-such"]
    assert (first.in_make_test, read["two"].in_make_test) == (False, True)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("cpu = 3", "there is no key cpu: they are after, sides, .*, cpus,"),
        ("words = 3", "words = 3 must be of type str"),
        ("cpus = [2]", r"cpus = \[2\] must be of type int"),
        ("cpus = true", "cpus = True must be of type int"),
        ('devices = "a:raw:2"', "devices = 'a:raw:2': a:raw:2 is not NAME:MODE:ALIGN or"),
        ("harmless = '('", r"harmless = '\(': missing \)"),
        ('kernel = "test"', "kernel = 'test' must be one of tested, arm64, pages"),
        ('after = "first third"', "there is no script third for it to run after"),
        ("[two]", "two names a boot of first,last: give it another name"),
        ("words", "lines '#: ' are not TOML: Expected '='"),
    ],
)
def test_header_is_refused(tmp_path: Path, line: str, message: str) -> None:
    for name, text in {**HEADERS, "wrong": f"#: {line}\n"}.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=f"^{tmp_path}/wrong: {message}"):
        boots.read_boots(tmp_path)


def test_example_of_a_header(tmp_path: Path) -> None:
    lines = re.findall(r"^ {4}(#: ?.*\n)", (ROOT / "CONTRIBUTING.md").read_text(), re.M)
    (tmp_path / "script").write_text("".join(lines))
    (tmp_path / "bind-cycles").touch()
    assert boots.read_boots(tmp_path)["bind-debug"].scripts == "bind-cycles,script"


ONE, TWO, THREE = "ok 1 - one", "ok 2 - two", "ok 3 - three"
WHY = ("# two: exit status 0, not 1", "# two: not ok 1 nd_pmem")
# What a guest says, and what judge() says of it.
PLANS: dict[str, tuple[tuple[str, ...], list[str]]] = {
    "kept": (("1..3", ONE, "# devices: dax0.0", TWO, THREE), []),
    "failed and skipped": (
        ("1..3", ONE, *WHY, "# two-b: not of two", "not ok 2 - two", f"{THREE} # SKIP why"),
        [*WHY, "not ok 2 - two", f"{THREE} # SKIP why"],
    ),
    "two missing": (("1..3", ONE), [f"the plan is 1..3, the last result: {ONE}"]),
    "told twice": (
        ("1..3", ONE, TWO, "ok 3 - two", "ok 4 - three"),
        ["the plan is 1..3, the last result: ok 4 - three"],
    ),
    "wrong number": (("1..3", ONE, TWO, "ok 4 - three"), ["ok 4 - three"]),
    "no check": (("1..0",), ["the plan is none, the last result: none"]),
    "no plan": ((ONE,), [f"the plan is none, the last result: {ONE}"]),
    "two plans": (("1..1", ONE, "1..1"), [f"the plan is 1..1, 1..1, the last result: {ONE}"]),
    "none begun": ((), ["the plan is none, the last result: none"]),
}


@pytest.mark.parametrize("name", PLANS)
def test_plan_of_checks(name: str) -> None:
    spoken, faults = PLANS[name]
    # Before it begins, the kernel's selftest has a plan of its own.
    spoken = ("TAP version 13", "1..2", *(boots.BEGIN, *spoken) * bool(spoken))
    # The kernel talks between the lines of guest/init.
    console = "\n".join(f"[ 1.1] zdm: {line}\n[ 1.2] ok 9 - is not ours" for line in spoken)
    judged = boots.judge(console, Path("log")).splitlines()
    assert judged == faults + ["(whole console: log)"] * bool(faults)


CASES = "[1:00] [PASSED] one\n[1:00] ==== [PASSED] a ====\n"


@pytest.mark.parametrize(
    ("totals", "ran", "message"),
    [
        ("passed: 2, failed: 1", "a", "passed: 2, failed: 1; suites: a instead of a"),
        ("passed: 2, skipped: 1", "a", "skipped: 1"),
        ("passed: 3, errors: 1", "a", "errors: 1"),
        ("passed: 3", "b", "suites: b instead of a"),
        ("passed: 3", "", "suites: none instead of a"),
    ],
)
def test_report_of_kunit(totals: str, ran: str, message: str) -> None:
    failed = "[1:00] want 1\n[1:00] [FAILED] two\n"
    report = f"{CASES}{failed}[1:00] Testing complete. Ran 3 tests: {totals}"
    console = f"[ 1.0]     ok 1 one\n[ 1.0] ok 1 {ran}\n" if ran else ""
    with pytest.raises(UserError, match=message) as caught:
        kunit.judge_report(report, console, ["a"], "KUnit", Path("log"))
    assert [*caught.value.shown] == ["want 1", "[FAILED] two"]
    if ran == "b":
        assert kunit.judge_report(report, console, ["b"], "KUnit", Path("log")) == 3


def test_races_in_each_touched_object_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = tmp_path / "objects/series+kcsan/kernel/padata.o"
    compiled.parent.mkdir(parents=True)
    (tmp_path / "padata.c").write_text(
        "static int padata_mt_helper(int a) { return a; }\n"
        "int padata_do_multithreaded(int a) { return padata_mt_helper(a); }\n"
    )
    command.run(["gcc", "-c", "-o", compiled, tmp_path / "padata.c"], "gcc")
    # Not every configuration compiles every file.
    touched = ["kernel/padata.c", "mm/memory_hotplug.c"]
    monkeypatch.setattr(sanitizers, "list_touched", lambda _: touched)
    kernel = Kernel("series+kcsan", "", tmp_path / "kernels/series+kcsan-0123/image")
    own = sanitizers.list_functions(kernel, Trees(tmp_path, tmp_path))
    races = {
        "padata_mt_helper / padata_do_multithreaded": False,
        "xas_store+0x1/0x2 / padata_mt_helper+0x3/0x4": False,
        "xas_store / xas_find": True,
        "test_memcpy_nt": False,
    }
    line = "[    1.0] BUG: KCSAN: data-race in {}"
    assert races == {race: sanitizers.is_foreign_race(own, line.format(race)) for race in races}


SAID = """\
/b/source-x/series/mm/a.c:1:2: warning: unused variable 'i' [-Wunused-variable]
../../source-x/series/mm/a.c:7:2: warning: unused variable 'i' [-Wunused-variable]
In file included from mm/a.c:3:
mm/a.c:4:1: error: bad constant expression
Warning: /b/source-x/series/mm/a.c:9 function parameter 'n' not described in 'f'
/b/source-x/series/mm/a.c:1:2: note: here
/b/source-x/series/mm/z.c:12:3: WARNING: reference preceded by free on line 9
"""


def test_warnings_are_read() -> None:
    assert warnings.find_warnings(SAID, Path("/b/source-x/series")) == [
        "Warning: mm/a.c function parameter 'n' not described in 'f'",
        "mm/a.c: error: bad constant expression",
        *["mm/a.c: warning: unused variable 'i' [-Wunused-variable]"] * 2,
        "mm/z.c: WARNING: reference preceded by free on line",
    ]


def test_a_compiler_that_fails_is_seen(tmp_path: Path) -> None:
    """Behind it, objtool is content with an object that was there before."""
    (tmp_path / "mm").mkdir()
    saved = "savedcmd_mm/mm_init.o := false -o mm/mm_init.o /x/mm/mm_init.c ; true mm/mm_init.o\n"
    (tmp_path / "mm/.mm_init.o.cmd").write_text(saved)
    with pytest.raises(UserError, match="compiling shim.c"):
        compile_like_mm_init(tmp_path, Path("/x/shim.c"), tmp_path / "shim.o")


BOOT = """\
[    0.25] smp: Brought up 2 nodes, 1 CPU
[    0.29] Memory: 16390288K/16776436K available (5200K kernel code)
[    0.64] Freeing unused kernel image (text/rodata gap) memory: 944K
[    0.65] Freeing unused kernel image (rodata/data gap) memory: 648K
[    0.66] Freeing unused kernel image (initmem) memory: 1028K
[    2.40] zdm: zone: 0, DMA32, 520160 present, 500293 managed, 500100 free
[    2.41] zdm: zone: 1, Normal, 2097152 present, 2063883 managed, 2057690 free
[    2.42] zdm: image: ends at 02020fff
"""


@pytest.mark.parametrize(
    "base, edits, complaint",
    [
        # A page more of code leaves a page less after it, and a page more of data takes one.
        (BOOT, [("944K", "940K"), ("500293 managed", "500292 managed")], ""),
        (BOOT, [("020fff", "021fff"), ("500293 m", "500292 m"), ("90288K", "90284K")], ""),
        (BOOT, [("020fff", "021fff"), ("1028K", "1032K"), ("90288K", "90284K")], ""),
        (BOOT, [("500293 managed", "500292 managed")], "0, DMA32: .* managed"),
        (BOOT, [("2057690 free", "2057100 free")], "2557790 pages are free in base, 2557200 in"),
        (BOOT, [("2063883 managed", "2063882 managed")], "1, Normal: .* 2063882 managed"),
        (BOOT, [("16390288K", "16390284K")], "16423184 KiB free after boot"),
        ("", [], "base has "),
    ],
)
def test_other_memory(base: str, edits: list[tuple[str, str]], complaint: str) -> None:
    series = base
    for old, new in edits:
        assert old in series
        series = series.replace(old, new)
    difference = zones.compare_zones(base, series)
    assert re.search(complaint, difference) if complaint else not difference
