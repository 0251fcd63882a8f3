# SPDX-License-Identifier: GPL-2.0
"""The program memmap: all is as in the base in every configuration, and each fault is found."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from harness.core import UserError, run
from harness.core.architectures import X86_64
from harness.kernel.configs import ALONE, CONFIGS
from harness.kernel.toolchain import compile_like_mm_init
from harness.link.disassembly import CHUNK, find_loads, find_undrained
from harness.link.program import MAIN, MEMMAP
from harness.link.race import RACES, run_races
from report.rows import PARTS, format_samples
from support import Builder, choose, compare, compare_all, read_faults, replay

PROGRAM, FAULTS = MEMMAP, read_faults("memmap")
# What each configuration is there for: bytes of struct page, and what compound_info holds.
LAYOUT = dict.fromkeys(("pointer", "pageblock", "arm64"), (64, "pointer"))
LAYOUT["page80"] = (80, "pointer")
# The other configurations and faults run in make test-all only.
SHORT = ("debian",)
QUICK = (
    *("fill.skipped-tail", "fill.wrong-template", "fill.section-past-the-end"),
    *("bind.entry-too-few", "bind.reference-too-many"),
    *("bind.freed-before-cleared", "bind.no-flush", "bind.page-not-verified"),
    *("bind.block-kept-after-failure", "bind.reserve-not-zeroed", "deferred.wrong-refcount"),
    *("deferred.own-next-link-copied", "deferred.page-too-many"),
    *("reserved.in-another-zone", "reserved.activated-with-a-reference"),
    *("deferred.freed-at-the-head", "online.not-isolated"),
    *("offline.hole-not-seen", "offline.skip-too-far", "offline.stale-order"),
    *("offline.unmovable-in-a-cache", "offline.waits-for-a-cache", "plug.not-cleared"),
    *("threads.unaligned-chunks", "threads.not-waited"),
)
# Cases of a fault's check; of a bind, all numbered ones and 200 random ones.
CASES = {"fill": "3000", "bind": "304", "reserved": "900"}
# Of each topic: the function that drains, and whom it must not call before.
DRAINED = {
    "fill": (CHUNK, ""),
    "threads": (CHUNK, ""),
    "deferred": ("deferred_init_memmap_chunk", "__free_deferred_block"),
    "online": ("memmap_init_free_isolated", ""),
    "reserved": ("memmap_init_deferred", ""),
}
FOUND = [name for name, fault in FAULTS.items() if "seen_by" not in fault]
DISASSEMBLED = [name for name in FAULTS if name not in FOUND]
# Configurations that stream: with KMSAN, and on arm64, memcpy_nt() is memcpy().
STREAMING = [name for name in CONFIGS if name not in ALONE]
# Others than the default one, which take its command.
COMPILERS = ("gcc-12", "gcc-13", "gcc-14", "gcc-15")
# Of all races: one row of each kind.
RACED = (
    "fill:1,fill:1:o9:ram,bind:1:ram,bind:1:o9:ram,"
    "deferred:1,reserved:1,reserved:1:cma,reserved:1:kho,online:1:b128,offline:1:b128,"
    "plug:1:b128,unplug:1:b128,unplug:1:b128:used,offline:1:b128:gap"
)


@pytest.mark.parametrize("name", choose(CONFIGS, SHORT))
def test_same_memmap(builder: Builder, name: str) -> None:
    program, config = builder.program(MEMMAP, name), CONFIGS[name]
    size, holds = LAYOUT.get(name, (64, "mask"))
    info = replay(program, "info", config=config).stdout
    assert f"struct page of {size} bytes, compound_info is a {holds}" in info
    assert ("page_ref_set" in info) == (name == "trace")
    # Those without jump labels.
    assert ("check_pages=" in info) == (name in ("keys", "trace", "pageblock"))
    if config.tools.architecture.runner:
        compare(program, "check fill 3000", config=config)
    elif name == "debian":
        compare_all(program, RACES[0].checks)
    else:
        compare(program, "check", config=config)


# The threads of replay/threads.c are for x86-64 only.
@pytest.mark.parametrize(
    "name",
    choose(
        [
            name
            for name, one in CONFIGS.items()
            if one.tools.architecture is X86_64 and name not in ("pageblock", *ALONE)
        ],
        ["debian"],
    ),
)
def test_same_memmap_by_threads(builder: Builder, name: str) -> None:
    for words in (
        "threads=2 check fill 1000",
        "threads=8 check fill 1000 2",
        "threads=4 helpers=0 check fill 500",
        "beside=1 check fill 1000",
        "beside=1 works=1 threads=8 check fill 1000",
    ):
        compare(builder.program(MEMMAP, name), words)


@pytest.mark.parametrize("what", ("fill", "deferred", "reserved", "online"))
@pytest.mark.parametrize("name", choose(STREAMING, SHORT))
def test_copies_are_drained(builder: Builder, name: str, what: str) -> None:
    if what == "fill" and name == "pageblock":
        pytest.skip("no ZONE_DEVICE")
    part = builder.pair(MEMMAP, name)[1].out / "mm/mm_init.o"
    assert not find_undrained(part, *DRAINED[what])


@pytest.mark.parametrize("name", choose(STREAMING, SHORT))
def test_words_stay_in_registers(builder: Builder, name: str) -> None:
    assert not find_loads(builder.pair(MEMMAP, name)[1].out / "mm/mm_init.o")


@pytest.mark.full
@pytest.mark.parametrize("compiler", COMPILERS)
def test_words_stay_in_registers_of(builder: Builder, tmp_path: Path, compiler: str) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    after = builder.pair(MEMMAP)[1]
    source, output = after.tree / f"{MAIN}.c", tmp_path / "mm_init.o"
    assert not find_loads(compile_like_mm_init(after.out, source, output, compiler=compiler))


def test_returns(builder: Builder) -> None:
    """Each return of the objects can be written over: else a row would mix kinds."""
    for kernel in builder.pair(MEMMAP):
        for part in MEMMAP.parts:
            code = run(["objdump", "-dr", kernel.out / f"{part}.o"], "objdump")
            assert "__x86_return_thunk" in code
            assert not re.search(r"\tret\b", code), part


@pytest.mark.parametrize("name", DISASSEMBLED)
def test_fault_is_disassembled(builder: Builder, name: str) -> None:
    kind, fault = name.partition(".")[0], FAULTS[name]
    mutant = builder.mutated(MEMMAP, name, fault)
    assert fault["says"] in (find_undrained(mutant, *DRAINED[kind]) or find_loads(mutant))


def check_fault(mutant: Path, name: str, fault: Any) -> None:
    kind = name.partition(".")[0]
    done = replay(mutant, "check", kind, CASES.get(kind, "60"))
    # A fault can make the kernel's code crash: that is 3.
    assert done.returncode in (1, 3), done.stdout + done.stderr
    output = done.stdout + done.stderr
    assert fault["says"] in output and "series" in output and "  base: " not in output
    if done.returncode == 3 or not fault.get("one_call", True):
        return
    # The report names the command that shows it again.
    case, difference = done.stdout.splitlines()[:2]
    words = case.removeprefix("DIFFERS ").partition(": ")[0]
    again = replay(mutant, *words.split()).stdout.splitlines()
    # How many bytes differ depends on the addresses of the free lists.
    assert again[0] == case and again[1].split(";")[0] == difference.split(";")[0]


def check_thread_fault(mutant: Path, name: str, fault: Any) -> None:
    """With many more threads than CPUs, some are late.

    Most faults show in each case that has several chunks. Only threads.shared-templates needs two
    threads to meet: docs/testing.md says how often they do.
    """
    words = fault.get("settings", "threads=16").split()
    done = replay(mutant, *words, "check", "fill", "3000")
    assert done.returncode and re.search(fault["says"], done.stdout + done.stderr)
    # One thread runs one chunk, in which the fault does not show.
    assert not replay(mutant, "check", "fill", "300").returncode


@pytest.mark.parametrize("name", choose(FOUND, QUICK))
def test_fault_is_found(mutants: dict[str, "Future[Path]"], name: str) -> None:
    check = check_thread_fault if name.startswith("threads.") else check_fault
    mutant = mutants[name].result()
    check(mutant, name, FAULTS[name])
    # What is not found stays, to be looked at.
    shutil.rmtree(mutant.parent)


def test_fault_that_fits_nowhere(builder: Builder) -> None:
    with pytest.raises(UserError, match="mutation gone: 0 times in mm/mm_init.c"):
        builder.mutant(MEMMAP, "gone", {"edits": [["no such text", ""]]})


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("dump_stack();", "used an unexpected symbol, dump_stack; provide it in shim/"),
        # Another part of the program has it.
        ('_printk("");', "used an unexpected symbol, _printk; provide it in shim/"),
        (
            "*(volatile long *)(vmemmap + start_pfn + (1UL << 32)) = 0;",
            "touched memory outside of the memmap at 0x",
        ),
        ("BUG();", "hit BUG() or an illegal instruction at 0x"),
    ],
)
def test_fault_in_the_kernel(builder: Builder, statement: str, message: str) -> None:
    entry = "	if (WARN_ON_ONCE(!pgmap || zone_idx != ZONE_DEVICE))\n"
    fault = {"edits": [[entry, f"	{statement}\n{entry}"]]}
    done = replay(builder.mutant(MEMMAP, "fault", fault), "check", "fill", "1")
    assert done.returncode == 3 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("replay: check fill 1 1 0: order=") and message in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("check fill many", '"many" is no number'),
        ("check deferred 1 1 1 1", '"check" is no command with these words'),
        ("check boot", "'boot' is no such WHAT"),
        ("race fill:1:o19", "fill:1:o19 is no row such as bind:64:o9:ram"),
        ("race fill:1 1 /no/such/folder/x", "cannot write /no/such/folder/x"),
        ("estimate --for 2P", "--for 2P: give a size such as 2T or 512G"),
        ("estimate --size 2T", "--size: give --for SIZE, such as 2T or 512G, or --json FILE"),
        ("return=plain info", '"return=plain" is no setting'),
        ("returns=slow info", "returns=slow must be plain, jump (to a thunk) or safe (Safe RET)"),
    ],
)
def test_bad_words(builder: Builder, words: str, message: str) -> None:
    done = replay(builder.program(MEMMAP), *words.split())
    assert done.returncode == 2 and message in done.stderr


def test_stands_alone(builder: Builder, tmp_path: Path) -> None:
    """In a folder of its own, without an environment, it compares, races and writes its samples."""
    program = Path(shutil.copy(builder.program(MEMMAP), tmp_path))
    assert "INTERP" not in run(["readelf", "-l", program], "readelf")
    done = subprocess.run(
        [program, "race", "bind:1:o9:ram,online:1", "3", "m.json"],
        cwd=tmp_path,
        env={},
        capture_output=True,
        text=True,
    )
    assert not done.returncode and "as it boots: returns are " in done.stdout
    assert len(json.loads((tmp_path / "m.json").read_text())["results"]) == 2


def mount(ours: Path, place: str) -> list[str | Path]:
    """Return the start of a command, for which ours is in that place."""
    script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
    command: list[str | Path] = ["unshare", "-rm", "sh", "-c", script, "sh", ours, place]
    if subprocess.run([*command, "true"], capture_output=True).returncode:
        pytest.skip("unshare -rm: no mount namespace")
    return command


def estimate(program: Path, sysfs: Path, words: str = "") -> list[str]:
    command = [*mount(sysfs, "/sys"), program, "estimate", *words.split()]
    return run(command, "estimate").splitlines()


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{text}\n")


def test_estimate(builder: Builder, tmp_path: Path) -> None:
    """Each device of sysfs has the rows of its driver, and each figure says from what it is."""
    program = builder.program(MEMMAP)
    write_files(
        tmp_path,
        {
            "devices/system/memory/block_size_bytes": "8000000",
            **{f"devices/system/memory/memory{n}/valid_zones": "Normal" for n in range(16)},
            **{f"devices/system/memory/memory{n}/state": "offline" for n in range(16, 80)},
            # 4 GiB of CXL memory, as many of a DIMM, and namespaces of all kinds.
            "devices/cxl/dax1.0/size": str(4 << 30),
            "devices/cxl/dax1.0/align": str(2 << 20),
            "devices/nd/dax0.1/mode": "pmem",
            "devices/nd/dax0.1/dax0.0/size": str(1 << 30),
            "devices/nd/dax0.1/dax0.0/align": str(1 << 30),
            "devices/nd/namespace0.0/mode": "memory",
            "devices/nd/namespace0.0/size": str(2 << 30),
            "devices/nd/namespace0.0/holder": "pfn0.1",
            "devices/nd/pfn0.1/mode": "ram",
            "devices/nd/namespace0.1/mode": "raw",
            "devices/nd/namespace0.1/size": str(2 << 30),
        },
    )
    for link, target in (
        ("bus/dax/devices/dax1.0", "devices/cxl/dax1.0"),
        ("bus/dax/devices/dax0.0", "devices/nd/dax0.1/dax0.0"),
        ("bus/nd/devices/namespace0.0", "devices/nd/namespace0.0"),
        ("bus/nd/devices/namespace0.1", "devices/nd/namespace0.1"),
        ("devices/cxl/dax1.0/driver", "bus/dax/drivers/kmem"),
        ("devices/nd/dax0.1/dax0.0/driver", "bus/dax/drivers/device_dax"),
    ):
        place = tmp_path / link
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(os.path.relpath(tmp_path / target, place.parent))
    text = "\n".join(estimate(program, tmp_path))
    number = r"[0-9.]+ -> [0-9.]+ s \(from 8 GiB, in proportion\)\n"
    wanted = (
        r"dax0.0, 1 GiB\n  bind and unbind: device-dax, 1 GiB, memmap on the device +",
        r"dax1.0, 4 GiB, and 1 more, each\n  plug system RAM: add, online, blocks of 128 MiB +",
        r"  unplug system RAM: offline, remove, blocks of 128 MiB +",
        r"namespace0.0, 2 GiB\n  bind and unbind: fsdax, memmap in RAM +",
        r"this machine, 2 GiB\n  boot: deferred memory +",
    )
    assert re.search(number.join(wanted) + number, text), text
    assert re.search(r"^to paste: .*; dax1.0, 4 GiB, plug [0-9.]+ -> [0-9.]+ s, unplug", text, re.M)


def test_estimate_of_a_size(builder: Builder, tmp_path: Path) -> None:
    program = builder.program(MEMMAP)
    (tmp_path / "sys").mkdir()
    lines = estimate(program, tmp_path / "sys", f"--json {tmp_path / 'm.json'} --for 16G")
    assert "CXL memory, 16 GiB" in lines
    plugged = [line for line in lines if line.startswith(("  plug", "  unplug"))]
    assert len(plugged) == 2 and all(line.endswith(" s (measured)") for line in plugged)
    results = json.loads((tmp_path / "m.json").read_text())["results"]
    assert {"plug:8", "plug:16", "deferred:8"} <= {result["row"] for result in results}
    assert all({*result["samples"]} == {"base", "series"} for result in results)


def test_samples_on_stdout(builder: Builder) -> None:
    done = replay(builder.program(MEMMAP), "estimate", "--for", "1G", "--json", "-")
    assert json.loads(done.stdout)["results"] and "to paste: " in done.stderr


def test_each_line_is_told_at_once(builder: Builder) -> None:
    with subprocess.Popen([builder.program(MEMMAP), "check"], stdout=subprocess.PIPE) as child:
        assert child.stdout
        first = os.read(child.stdout.fileno(), 1 << 16)
        child.kill()
    assert b"fill" in first and first.count(b"\n") == 1


@pytest.mark.parametrize(("word", "text"), [("--help", "usage: memmap"), ("--version", '"base": ')])
def test_help(builder: Builder, word: str, text: str) -> None:
    done = replay(builder.program(MEMMAP), word)
    assert not done.returncode and text in done.stdout and not done.stderr


@pytest.mark.parametrize(
    ("overcommit", "advice"),
    [("2", "have vm.overcommit_memory=0"), ("0", "free some memory, or raise ulimit -v")],
)
def test_memory_that_cannot_be_mapped(
    builder: Builder, overcommit: str, advice: str, tmp_path: Path
) -> None:
    """Here by ulimit -v; what /proc says is ours."""
    (tmp_path / "overcommit").write_text(overcommit)
    command = mount(tmp_path / "overcommit", "/proc/sys/vm/overcommit_memory")
    command += ["prlimit", "--as=9000000000", builder.program(MEMMAP), "check", "plug", "1"]
    complaint = run(command, "memmap", fine=(2,))
    assert re.fullmatch(rf"replay: cannot map \d+ MiB: {advice}\n", complaint)


def test_random_cases_follow_the_seed(builder: Builder) -> None:
    first, again, other = (
        replay(builder.program(MEMMAP), "check", "fill", "200", seed).stdout
        for seed in ("7", "7", "8")
    )
    assert first == again != other


@pytest.mark.usefixtures("one_cpu")
def test_race(builder: Builder, tmp_path: Path) -> None:
    """Each runner takes time; what a bind does; a table can be made."""
    program = builder.program(MEMMAP)
    samples = run_races(program, [f"race {RACED} 3", "returns=plain race fill:1:t2 3"], 1, tmp_path)
    results = {result["row"]: result for result in samples["results"]}
    assert [*results] == [*RACED.split(","), "fill:1:t2"]
    for result in results.values():
        [process] = result["runs"]
        assert {*process["samples"]} == {"base", "series", "fallback", "bound"}
        assert all(min(times) > 0 for times in process["samples"].values())
    # Deduplicated, 128 of the 512 struct pages of a compound page are written.
    written = [results[row]["written"] for row in ("fill:1", "fill:1:o9:ram")]
    assert written == [1 << 18, 1 << 16]
    for row in ("bind:1:ram", "bind:1:o9:ram"):
        [process] = results[row]["runs"]
        base, series = (process[kernel] for kernel in ("base", "series"))
        # The base flushes for each of eight sections, the series once.
        assert base["flushes"] > 8 and series["flushes"] == 1
        assert series["allocated"] == base["allocated"]
    # Only where entries of a page table share a page has each of them a lock in the base.
    assert 4 * series["locks"] < base["locks"]
    # A block of free memory is left alone by the LRU caches of all CPUs.
    for row, calls in (("offline:1:b128", 0), ("unplug:1:b128", 0), ("unplug:1:b128:used", 8)):
        [process] = results[row]["runs"]
        assert [process[kernel]["lru_disabled"] for kernel in ("base", "series")] == [8, calls]
    # Three blocks of 64 pageblocks go offline behind four of boot memory and a hole. All but the
    # last leave the hole, where the base's walks end, and the series looks first, after one walk.
    [process] = results["offline:1:b128:gap"]["runs"]
    assert [process[kernel]["walked"] for kernel in ("base", "series")] == [770, 2]
    [process] = results["bind:1:ram"]["runs"]
    parts = zip(*(process[part]["series"] for part in PARTS), strict=True)
    assert process["samples"]["series"] == pytest.approx([sum(part) for part in parts], rel=1e-3)
    assert results["fill:1:t2"]["returns"] == "plain"
    assert "bind and unbind: fsdax, memmap in RAM" in format_samples(samples)


def test_page_that_no_thread_frees_is_found(builder: Builder) -> None:
    chunk = "deferred_init_memmap_chunk(start_pfn, end_pfn{}, zone, true);"
    fault = {"edits": [[chunk.format(""), chunk.format(" - 1")]]}
    done = replay(builder.mutant(MEMMAP, "page-too-few", fault), "race", "deferred:1:t1", "1")
    assert done.returncode == 2 and "series did not free all pages of 262144" in done.stderr
