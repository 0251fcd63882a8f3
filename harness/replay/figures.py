# SPDX-License-Identifier: GPL-2.0
"""What the tables tell, as rows of cells: the figures of the samples in results/.

RUNS names the folders. Where each table stands is in tables.py.
"""

import functools
import json
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence

from harness.bench.report import select_values
from harness.bench.whole import list_medians
from harness.replay.bind import PARTS
from harness.replay.bind import name_race as name_whole
from harness.replay.boot import name_race
from harness.replay.demotion import find_groups
from harness.replay.parallel import find_cost, is_small
from harness.replay.samples import RESULTS, Result, Row, Samples, find_ratio, find_stolen, find_time

# The runs that the tables show, by CPU.
SAPPHIRE_RAPIDS = "Sapphire Rapids"
ZEN_4 = "Zen 4"
RUNS = {
    SAPPHIRE_RAPIDS: {
        "replay": "2026-11-21-sapphire-rapids-v2",
        "parallel": "2026-11-22-sapphire-rapids-parallel",
        "demotion": "2026-11-22-sapphire-rapids-demotion",
    },
    "Zen 3": dict.fromkeys(("replay", "parallel", "demotion"), "2026-11-24-zen-3")
    | dict.fromkeys(("boot", "online"), "2026-11-24-zen-3-range"),
    ZEN_4: dict.fromkeys(("replay", "demotion"), "2026-11-25-zen-4")
    | dict.fromkeys(("boot", "online"), "2026-11-25-zen-4-boot")
    | {"copy": "2026-11-25-zen-4-copy", "bind": "2026-11-25-zen-4-bind"}
    | {"parallel": "2026-11-26-zen-4-parallel", "bench": "2026-11-25-zen-4-native"},
    "Zen 5": dict.fromkeys(("replay", "boot", "parallel", "demotion"), "2026-11-23-zen-5"),
}
# Two runs with v11 of Li Zhe's series as the peer.
V11 = (ZEN_4, "2026-11-25-zen-4-v11", ("main", "main2"))
GIB = 100
ORDERS = {
    (0, False): "0 (nd_pmem)",
    (9, False): "9 (dax_pmem, 2 MiB)",
    (18, False): "18 (1 GiB)",
    (9, True): "9, deduplicated",
}
# Where small memmaps were raced with a series that streams them, too.
STREAMED = "2026-11-25-zen-4-streamed"


@functools.cache
def read_samples(folder: str, kind: str) -> Samples:
    """Return what a kind of replay left in a folder of results/."""
    samples: Samples = json.loads((RESULTS / folder / f"{kind}.json").read_text())
    return samples


def load(cpu: str, kind: str) -> Samples:
    return read_samples(RUNS[cpu][kind], kind)


def pick(results: Iterable[Result], **wanted: object) -> Result:
    """Return the one result that has these values; None is for a key that it lacks."""
    [found] = [
        one for one in results if all(one.get(key) == value for key, value in wanted.items())
    ]
    return found


def find_one(cpu: str, kind: str, **wanted: object) -> Result:
    return pick(load(cpu, kind)["results"], **wanted)


def name_bind(order: int, **options: int) -> Mapping[str, object]:
    """Return what picks one whole bind and unbind: --map=mem, plain returns, or as options say."""
    plain = {"altmap": 0, "init_on_alloc": 0, "safe_ret": 0}
    return {"order": order, "mib": GIB << 10, **plain, **options}


def tell_times(result: Result, *runners: str) -> list[str]:
    return [f"{find_time(result, one):.2f}" for one in runners]


def list_bind() -> list[Row]:
    """Return the parts of a whole bind and unbind of the large device, and what they do."""
    rows: list[Row] = [
        ("bind", "kernel", *(f"{part}, ms" for part in PARTS), "flushes", "locks", "base / series")
    ]
    for result in load(ZEN_4, "bind")["results"]:
        if result["mib"] != GIB << 10:
            continue
        _, what = name_whole(result).split(", ", 1)
        for kernel in ("base", "series"):
            times = (f"{find_time(result, kernel, part):.2f}" for part in PARTS)
            done = result["runs"][0][kernel]
            gain = find_ratio(result, "base", "series") if kernel == "series" else ""
            rows.append((what, kernel, *times, str(done["flushes"]), str(done["locks"]), gain))
    return rows


BINDS = {"order 0": 0, "2 MiB, deduplicated": 9, "1 GiB, deduplicated": 18}


def list_whole() -> list[Row]:
    """Return the parts of whole binds and unbinds with init_on_alloc, of both return thunks."""
    parts = ("map", "fill", "unmap")
    rows: list[Row] = [("100 GiB", "", *parts, "before / after")]
    for thunk, safe_ret in (("", 0), (", Safe RET", 1)):
        for what, order in BINDS.items():
            result = find_one(ZEN_4, "bind", **name_bind(order, init_on_alloc=1, safe_ret=safe_ret))
            for when, kernel in (("before", "base"), ("after", "series")):
                times = (f"{find_time(result, kernel, part):.1f}" for part in PARTS)
                gain = "" if kernel == "base" else find_ratio(result, "base", "series")
                name = what.split(",")[0] + thunk if kernel == "base" else ""
                rows.append((name, when, *times, gain))
    return rows


# A name, a kernel and init_on_alloc for each row of list_part().
CHANGE = (("before", "base", 0), ("after", "series", 0))
ZEROING = (
    ("init_on_alloc=1", "base", 1),
    ("init_on_alloc=0", "base", 0),
    ("init_on_alloc=1, all patches", "series", 1),
)


def list_part(
    part: str, orders: Sequence[str], sides: Iterable[tuple[str, str, int]], *, locks: bool = False
) -> list[Row]:
    """Return one part of a whole bind, and on request how many locks it takes."""
    rows: list[Row] = [("ms", *orders)]
    for name, kernel, zeroed in sides:
        results = [
            find_one(ZEN_4, "bind", **name_bind(BINDS[order], init_on_alloc=zeroed))
            for order in orders
        ]
        rows.append((name, *(f"{find_time(one, kernel, part):.2f}" for one in results)))
        if locks:
            counts = (str(one["runs"][0][kernel]["locks"]) for one in results)
            rows.append(("  locks", *counts))
    return rows


def find_binds(samples: Samples) -> dict[str, list[tuple[float, ...]]]:
    """Return the memmap and the whole bind of base and series in a kernel that ran, in ms."""
    both, entries = ("base", "series"), samples["whole"]
    found = {
        device: [
            tuple(statistics.median(select_values(samples, name, device, kind)) for name in both)
            for kind in ("memmap", "bind")
        ]
        for device in samples["pages"]
    }
    for case in dict.fromkeys(entry["case"] for entry in entries if entry["shown"]):
        found[case] = [
            tuple(statistics.median(list_medians(entries, case, name, what)) for name in both)
            for what in ("memmap", "whole bind")
        ]
    return found


def list_native() -> list[Row]:
    """Return the memmap and the whole bind of each device and case in a kernel that ran."""
    rows: list[Row] = [("device", "memmap, ms", "whole bind, ms")]
    for what, times in find_binds(load(ZEN_4, "bench")).items():
        cells = (f"{base:.1f}, {series:.1f}: {base / series:.2f}x" for base, series in times)
        rows.append((what, *cells))
    return rows


def tell_gain(cpu: str, kind: str, wanted: Mapping[str, object]) -> str:
    """Return the seconds of one core per TiB, today and with the series, and their ratio."""
    if kind not in RUNS[cpu]:
        return "not run"
    if kind == "bench":
        samples = load(cpu, kind)
        _, times = find_binds(samples)[str(wanted["case"])]
        today, now = (time * 2**10 / samples["gib"] / 1e3 for time in times)
        return f"{today:.2f} -> {now:.2f} s: {today / now:.2f}x"
    result = find_one(cpu, kind, **wanted)
    # A deduplicated memmap has fewer struct pages.
    written = result.get("pages", GIB * 2**18) * 2**10 / GIB
    # Those of a whole bind are ms for the device.
    scale = 2**20 / result["mib"] / 1e3 if kind == "bind" else written / 1e9
    today, now = (find_time(result, one) * scale for one in ("base", "series"))
    # docs/results.md has the range.
    gain, *_ = find_ratio(result, "base", "series").split(" ")
    return f"{today:.2f} -> {now:.2f} s: {gain}"


def list_gains() -> list[Row]:
    """Return a row for each way to fill a memmap or to bind a device, with all CPUs."""
    device = {"device_gib": GIB, "deduplicated": False}
    in_ram = {"device_gib": GIB, "deduplicated": True, "order": 9}
    zeroed: dict[str, int] = {"init_on_alloc": 1}
    mitigated = {**zeroed, "safe_ret": 1}
    devdax, fsdax = "bind and unbind: device-dax, 2 MiB, memmap", "bind and unbind: fsdax, memmap"
    on_device = name_bind(0, **mitigated, altmap=1)
    running = "bind in a running kernel:"
    told: dict[str, tuple[str, Mapping[str, object]]] = {
        "fill: persistent memory (fsdax)": ("replay", {**device, "order": 0}),
        "fill: device-dax, 2 MiB, memmap on the device": ("replay", {**device, "order": 9}),
        "fill: device-dax, 2 MiB, memmap in RAM, such as CXL": ("replay", in_ram),
        "boot: deferred memory (RFC)": ("boot", {"what": "deferred", "gib": GIB, "threads": None}),
        "bring memory online, blocks of 2 GiB (RFC)": ("online", {"block_mib": 2048}),
        f"{devdax} in RAM (RFC)": ("bind", name_bind(9, **zeroed)),
        f"{devdax} in RAM, Safe RET (RFC)": ("bind", name_bind(9, **mitigated)),
        f"{fsdax} in RAM (RFC)": ("bind", name_bind(0, **zeroed)),
        f"{fsdax} in RAM, Safe RET (RFC)": ("bind", name_bind(0, **mitigated)),
        f"{fsdax} on the device, Safe RET (RFC)": ("bind", on_device),
        f"{running} fsdax, memmap on the device": ("bench", {"case": "nd_pmem"}),
        f"{running} fsdax, memmap in RAM (RFC)": (
            "bench",
            {"case": "fsdax, map=mem, init_on_alloc=1"},
        ),
    }
    rows = [(what, *(tell_gain(cpu, *wanted) for cpu in RUNS)) for what, wanted in told.items()]
    return [("what", *RUNS), *rows]


def list_raced(kind: str, what: str, name: Callable[[Result], str]) -> list[Row]:
    """Return base, series and fill, and their ratios, of the results that have a name, by CPU."""
    rows: list[Row] = [("CPU", what, "base", "series", "fill", "base / series", "series / fill")]
    for cpu in RUNS:
        for result in load(cpu, kind)["results"] if kind in RUNS[cpu] else []:
            if told := name(result):
                times = tell_times(result, "base", "series", "limit")
                pairs = ("base", "series"), ("series", "limit")
                rows.append((cpu, told, *times, *(find_ratio(result, *pair) for pair in pairs)))
    return rows


def list_replay() -> list[Row]:
    """Return the times of each order of the drivers, on the large device."""

    def name(result: Result) -> str:
        order = result["order"], result["deduplicated"]
        return ORDERS.get(order, "") * (result.get("device_gib") == GIB)

    return list_raced("replay", "order", name)


def list_v11() -> list[Row]:
    """Return the times of v11 beside base and series, over the processes of both runs."""
    cpu, folder, runs = V11
    records = [read_samples(f"{folder}/{run}", "replay") for run in runs]
    rows: list[Row] = [("CPU", "order", "base", "v11", "series", "fill", "v11 / series")]
    for (order, shared), name in ORDERS.items():
        wanted = {"device_gib": GIB, "order": order, "deduplicated": shared}
        found = [pick(record["results"], **wanted) for record in records]
        result = {"runs": [run for one in found for run in one["runs"]]}
        times = tell_times(result, "base", "peer", "series", "limit")
        rows.append((cpu, name, *times, find_ratio(result, "peer", "series")))
    return rows


def list_zones(what: str) -> list[Row]:
    """Return the times of "deferred" or "reserved" memory of boot, by one thread."""

    def name(result: Result) -> str:
        found = result["what"] == what and "threads" not in result
        return f"{what}, {result['gib']} GiB" * found

    return list_raced("boot", "what", name)


def list_threads() -> list[Row]:
    """Return the wall clock of deferred initialisation by threads; older records have none."""
    return list_raced("boot", "threads", lambda result: str(result.get("threads", "")))


def list_online() -> list[Row]:
    """Return the times of memory blocks that come online."""
    return list_raced("online", "what", lambda result: name_race(result).strip())


def list_stores() -> list[Row]:
    """Return the newest times of deferred initialisation of the large zone, by kind of store."""
    result = find_one(ZEN_4, "boot", what="deferred", gib=GIB, threads=None)
    times = tell_times(result, "base", "fallback", "series")
    return [("CPU", "base", "memcpy()", "memcpy_nt()"), (ZEN_4, *times)]


def list_runs_of_threads() -> list[tuple[str, str, Samples]]:
    """Return all runs by several threads, older ones included: the CPU, the date, the samples."""
    runs = []
    for path in RESULTS.glob("*/parallel.json"):
        samples = read_samples(path.parent.name, "parallel")
        [cpu] = [cpu for cpu in RUNS if f"({cpu}" in samples["cpu"]]
        runs.append((cpu, samples["date"], samples))
    return sorted(runs, key=lambda run: ([*RUNS].index(run[0]), run[1]))


def tell_stolen(result: Result) -> str:
    """Return the largest share of a process's CPU time that the hypervisor took."""
    return f"{find_stolen([result]):.0%}"


def list_parallel() -> list[Row]:
    """Return the wall clock of one and two threads, in all runs."""
    rows: list[Row] = [("CPU", "run", "order", "base", "one", "two", "one / two", "fill", "host")]
    for cpu, date, samples in list_runs_of_threads():
        for order, deduplicated in ((0, False), (9, True)):
            wanted = {"device_mib": GIB * 1024, "order": order, "deduplicated": deduplicated}
            result = pick(samples["results"], **wanted)
            times = [
                f"{find_time(result, one):.0f} ms" for one in ("base 1", "series 1", "series 2")
            ]
            gains = [find_ratio(result, f"{one} 1", f"{one} 2") for one in ("series", "fill")]
            rows.append(
                (cpu, date[5:], f"{order}{'d' * deduplicated}", *times, *gains, tell_stolen(result))
            )
    return rows


def list_brief(rows: Sequence[Row]) -> list[Row]:
    """Return the rows without what they have in brackets: ranges and names of drivers."""
    return [[cell.split(" (")[0] for cell in row] for row in rows]


def list_short(rows: Sequence[Row]) -> list[Row]:
    """Return the brief rows as most mails have room for them: without the last column."""
    return list_brief([row[:-1] for row in rows])


def list_wall_clock() -> list[Row]:
    """Return the brief rows of list_parallel(), without the ms of each time."""
    return [[cell.removesuffix(" ms") for cell in row] for row in list_brief(list_parallel())]


def list_small() -> list[Row]:
    """Return what the bind of one small device takes; older records have no such rows."""
    rows: list[Row] = [("CPU", "run", "at once", "base", "series", "base / series", "host")]
    for cpu, date, samples in list_runs_of_threads():
        for result in filter(is_small, samples["results"]):
            # At order 18, most of a bind is what the program leaves out.
            if result["order"] == 18:
                continue
            for threads, told in ((1, "one"), (2, "two")):
                runners = f"base {threads}", f"series {threads}"
                times = [f"{find_cost(result, one):.0f} us" for one in runners]
                ratio = find_ratio(result, *runners)
                rows.append((cpu, date[5:], told, *times, ratio, tell_stolen(result)))
    return rows


def list_demotion() -> list[Row]:
    """Return base / series of the copies of 2 MiB, and of what is read after them.

    The columns of a size are the copy beside that much other data.
    """
    sizes = (64, 256)
    beside = [f"{size} MiB" for size in sizes]
    rows: list[Row] = [("CPU", "copy", *beside, "fits", "larger", "copies read")]
    for cpu in RUNS:
        samples = load(cpu, "demotion")
        # That run had a variant which is the series as it became.
        runner = "movnti" if cpu == SAPPHIRE_RAPIDS else "series"
        copy, *others = find_groups(samples, 9, runner).values()
        large = [
            find_ratio(
                pick(samples["results"], order=9, other_kib=size * 1024), "base", runner, "copy"
            )
            for size in sizes
        ]
        rows.append((cpu, copy, *large, *others))
    return rows


def list_isolated() -> list[Row]:
    """Return what an inline copy of 64 bytes takes; older records have no such rows."""
    rows: list[Row] = [("apart", "aligned", "shifted by 8", "across two lines")]
    for apart in (64, 128, 256, 4096):
        found = [
            find_one(ZEN_4, "copy", bytes=64, shifted=shift, apart=apart) for shift in (0, 8, 32)
        ]
        times = (" -> ".join(tell_times(one, "memcpy", "memcpy_nt")) for one in found)
        rows.append((str(apart), *times))
    return rows


def list_touched() -> list[Row]:
    """Return what small memmaps take to fill, and with a store to each struct page behind that."""
    rows: list[Row] = [("memmap", "state", "base", "memcpy()", "memcpy_nt()")]
    for result in read_samples(STREAMED, "replay")["results"]:
        if result["order"] or result["deduplicated"]:
            continue
        kib, microseconds = result["pages"] * 64 >> 10, result["pages"] / 1000
        times = [
            [find_time(result, one, what) * microseconds for what in ("fill", "touched")]
            for one in ("base", "fallback", "series")
        ]
        size = f"{kib >> 10} MiB" if kib >> 10 else f"{kib} KiB"
        cells = [f"{fill:.{fill < 100:d}f} / {touched:.{fill < 100:d}f}" for fill, touched in times]
        rows.append((size, "zeroed" if result["zeroed"] else "uncached", *cells))
    return rows


def list_zeroed() -> list[Row]:
    """Return the rows of what was zeroed before, for a mail."""
    return [(size, *times) for size, state, *times in list_touched() if state != "uncached"]


def list_orders() -> list[Row]:
    rows: list[Row] = [("order", *("memcpy", "nt") * len(RUNS))]
    for order in (*range(11), 18):
        ratios = []
        for cpu in RUNS:
            result = find_one(cpu, "replay", device_gib=16, order=order, deduplicated=False)
            ratios += [find_ratio(result, "base", one) for one in ("fallback", "series")]
        rows.append((str(order), *ratios))
    return rows
