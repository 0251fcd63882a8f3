# SPDX-License-Identifier: GPL-2.0
"""The figures of README.md, cover letters and messages: results/ must bear them out."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from checks import claims
from harness.core.folders import ROOT

README = """# Toy

One page per 4 KiB: 26 million for 100 GiB, and 3 patches. Median of 3 rounds:

| CPU | order | base | series | ratio |
|---|---|---|---|---|
| Fast | 0 | 10.50 | 4.20 | 2.69x |
| Slow | 9 | 21.0 | 8.4 | 2.69x |

No order from 0 to 9 is slower, and all are within 20 % of it. Order 0 gains 169 % on Fast.
45 instructions become 12. It loses 0.1 ms for 128 MiB, and read 17 stale words in 2000 rounds.
Two threads take 0.3 ms, 1.50x of one.
"""
COVER = """From 0000 Mon Sep 17 00:00:00 2001
Subject: [PATCH 0/2] toy: go faster

A TiB takes 3 seconds, gcc 12.2, in 10 systematic and 20 random cases. Once it was 77 us.

Patches
 1     is the first
 2-3   follow

A U Thor (2):
  toy: first
  toy: 99 bottles

 mm/x.c | 88 +++++
"""
PATCH = """From 0000 Mon Sep 17 00:00:00 2001
Subject: [PATCH 1/2] toy: first

Go on.
---
 mm/x.c | 88 +++++
"""
CLAIMS = """# Toy

1 rows say "no record".

## Sources

| name | file | command |
|---|---|---|
| Fast | `results/fast/replay.json` | `make replay` |
| Slow | `results/slow/replay.json` | `make replay` |
| cases | `results/fast/replay.txt` | `make replay` |
| counts | `results/fast/bench-icount.json` | `make bench` |
| probes | `results/fast/probes.txt` | `make probes` |
| threads | `results/fast/parallel.json` | `make replay` |
| patches | `series` | `make export` |

## README.md

| quoted words | sources | how the figures follow |
|---|---|---|
| 26 million for 100 GiB | Fast | 100 GiB, order 0: pages, device |
| and 3 patches | patches | all |
| Median of 3 rounds | Fast, Slow | 100 GiB: rounds |
| Fast 0 10.50 4.20 2.69x | Fast | 100 GiB, order 0: order, base, series, base / series |
| Slow 9 21.0 8.4 2.69x | Slow | 100 GiB, order 9d: order, base, series, base / series |
| No order from 0 to 9 is slower | Fast, Slow | 100 GiB: orders, base / series over 1 |
| within 20 % of it | Fast, Slow | 100 GiB: at most limit / series |
| Order 0 gains 169 % on Fast | Fast | 100 GiB, order 0: order, base / series |
| 45 instructions become 12 | counts | nd_pmem: base, series |
| loses 0.1 ms for 128 MiB | probes | 2 MiB: loss, device |
| 17 stale words in 2000 rounds | probes | stale, rounds |
| 0.3 ms, 1.50x of one | threads | 256 MiB, order 0: series 2, series 1 / series 2 |

## topic/0000

| quoted words | sources | how the figures follow |
|---|---|---|
| A TiB takes 3 seconds | Fast | 100 GiB, order 0: base per TiB |
| 10 systematic and 20 random cases | cases | systematic, random |
| Once it was 77 us | no record | somewhere |

## Constants

| words | why |
|---|---|
| per N KiB | a page |
"""
PROBES = """without:       stale words read in 17 of 2000 rounds
with SFENCE:   stale words read in 0 of 2000 rounds
   2 MiB   plain:     37.0 +     23.0   MOVNTI:    111.0 +     54.0
   8 MiB   plain:    149.0 +     90.0   MOVNTI:    331.0 +    217.0
"""
CASES = "".join(
    f"{n} cases, 9 entries: series and fallback as base, byte for byte\n" for n in (10, 20)
)
Edit = Callable[[str, str, str], None]


def make_races(order: int, scale: float) -> str:
    """Return a replay.json of one race, deduplicated if the order is not 0."""
    samples = {
        "base": [10 * scale, 10.5 * scale, 12 * scale],
        "series": [4.2 * scale, 3.9 * scale, 4.4 * scale],
        "fallback": [12.0, 12.0, 12.0],
        "limit": [5 * scale, 5 * scale, 5 * scale],
    }
    race = {"device_gib": 100, "order": order, "deduplicated": order > 0, "pages": 26214400}
    return json.dumps({"page_struct_size": 64, "results": [race | {"samples": samples}]})


def make_counts() -> str:
    """Return a bench-icount.json of 1000000 pages."""
    boots = [
        {"kernel": kernel, "devices": {"nd_pmem": {"memmap": [count]}}}
        for kernel, count in (("base", 45.3), ("series", 12.2))
    ]
    return json.dumps({"pages": dict.fromkeys(boots[0]["devices"], 1000000), "boots": boots})


def make_threads() -> str:
    """Return a parallel.json of one race."""
    samples = {"series 1": [0.45, 0.3, 0.6], "series 2": [0.3, 0.2, 0.4]}
    race = {"device_mib": 256, "order": 0, "deduplicated": False, "samples": samples}
    return json.dumps({"results": [race]})


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A repository with all that the check reads."""
    for name, text in {
        "README.md": README,
        claims.CLAIMS: CLAIMS,
        "series/topic/0000-cover-letter.patch": COVER,
        "series/topic/0001-first.patch": PATCH,
        "series/topic/0002-second.patch": PATCH,
        "series/other/0001-third.patch": PATCH,
        "results/fast/README.md": "`make replay`, `make bench`, `make probes`",
        "results/fast/replay.json": make_races(0, 1),
        "results/fast/replay.txt": CASES,
        "results/fast/bench-icount.json": make_counts(),
        "results/fast/parallel.json": make_threads(),
        "results/fast/probes.txt": PROBES,
        "results/slow/README.md": "`make replay`",
        "results/slow/replay.json": make_races(9, 2),
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def edit(toy: Path) -> Edit:
    """Return a function that replaces words, which occur once, in a file of the toy."""

    def replace(name: str, old: str, new: str) -> None:
        text = (toy / name).read_text()
        assert text.count(old) == 1
        (toy / name).write_text(text.replace(old, new))

    return replace


def test_results_bear_out_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    """Print the claims without a record, even when pytest captures the output."""
    with capsys.disabled():
        for claim in claims.list_unrecorded(claims.read_claims((ROOT / claims.CLAIMS).read_text())):
            print(f"\n{claims.NO_RECORD}: {claim}", end="")
    assert claims.check() == []


def test_each_recorded_figure_is_pinned() -> None:
    """A figure whose last digit is two higher is not borne out, unless it is a limit."""
    found = claims.read_claims((ROOT / claims.CLAIMS).read_text())
    for row in (row for rows in found.rows.values() for row in rows):
        figures = claims.extract(claims.flatten(row.words))
        if row.sources == [claims.NO_RECORD] or "at most" in row.derived:
            continue
        for at, figure in enumerate(figures):
            digits = figure.number.replace(".", "")
            places = len(figure.number.partition(".")[2])
            higher = figure._replace(number=f"{(int(digits) + 2) / 10**places:.{places}f}")
            with pytest.raises(ValueError, match=f"{higher.number}.*, but "):
                claims.judge(ROOT, found, row, [*figures[:at], higher, *figures[at + 1 :]])


def test_toy_is_good(toy: Path) -> None:
    assert claims.check(toy) == []


def test_figure_of_the_readme_changed(toy: Path, edit: Edit) -> None:
    edit("README.md", "10.50 ", "10.51 ")
    quote, figure, *_ = claims.check(toy)
    assert quote == "README.md: 'Fast 0 10.50 4.20 2.69x' occurs 0 times, not once"
    assert figure.startswith("README.md: docs/claims.md does not cover 0 in")
    assert any("does not cover 10.51" in line for line in claims.check(toy))


@pytest.mark.parametrize(
    "name, old, new, expected",
    [
        ("README.md", "4.20", "4.21", "4.21, but series is 4.2"),
        ("README.md", "21.0", "21.1", "21.1, but base is 21"),
        ("README.md", "26 million", "27 million", "27 million, but pages is 2.62144e+07"),
        ("README.md", "169 %", "150 %", "150 %, but base / series is 2.69231"),
        ("README.md", "within 20 %", "within 19 %", "19 %, but at most limit / series is 1.19048"),
        ("README.md", "from 0 to 9", "from 0 to 8", "8, but orders is 9"),
        ("README.md", "45 instructions", "46 instructions", "46, but base is 45.3"),
        ("README.md", "0.1 ms", "0.2 ms", "0.2 ms, but loss is 105000"),
        ("README.md", "17 stale", "18 stale", "18, but stale is 17"),
        ("README.md", "0.3 ms", "0.4 ms", "0.4 ms, but series 2 is 300000"),
        ("README.md", "1.50x", "1.60x", "1.60 x, but series 1 / series 2 is 1.5"),
        ("README.md", "3 patches", "4 patches", "4, but all is 3"),
        ("topic/0000", "3 seconds", "4 seconds", "4 seconds, but base per TiB is 2.81857e+09"),
        ("topic/0000", "10 systematic", "11 systematic", "11, but systematic is 10"),
    ],
)
def test_wrong_figure(toy: Path, edit: Edit, name: str, old: str, new: str, expected: str) -> None:
    """The text and docs/claims.md agree, but results/ does not."""
    edit("README.md" if name == "README.md" else f"series/{name}-cover-letter.patch", old, new)
    edit(claims.CLAIMS, old, new)
    [wrong] = claims.check(toy)
    assert wrong.startswith(f"{name}: ") and wrong.endswith(f"is not borne out: {expected}")


def test_quote_is_gone(toy: Path, edit: Edit) -> None:
    edit("README.md", "No order from 0 to 9 is slower, and", "And")
    assert claims.check(toy) == [
        "README.md: 'No order from 0 to 9 is slower' occurs 0 times, not once"
    ]


def test_quote_stands_twice(toy: Path, edit: Edit) -> None:
    edit("README.md", "# Toy", "# Toy with and 3 patches")
    assert "README.md: 'and 3 patches' occurs 2 times, not once" in claims.check(toy)


@pytest.mark.parametrize(
    "file, rows",
    [("replay.json", 7), ("replay.txt", 1), ("bench-icount.json", 1), ("probes.txt", 2)],
)
def test_result_is_missing(toy: Path, file: str, rows: int) -> None:
    (toy / "results/fast" / file).unlink()
    expected = f"is not borne out: results/fast/{file} is missing"
    assert [line.endswith(expected) for line in claims.check(toy)] == [True] * rows


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ('"order": 0', '"order": 1', "results/fast/replay.json has nothing for '100 GiB, order 0'"),
        ("[12.0,", "[4.0, 12.0,", "3, but rounds is 4"),
        ("10.5,", "10.6,", "10.50, but base is 10.6"),
    ],
)
def test_samples_changed(toy: Path, edit: Edit, old: str, new: str, expected: str) -> None:
    edit("results/fast/replay.json", old, new)
    assert any(line.endswith(expected) for line in claims.check(toy))


@pytest.mark.parametrize("figure", ["7 %", "1.5x", "12 ns", "3 GiB/s", "1250", "(2.5", "8bits"])
def test_new_figure(toy: Path, edit: Edit, figure: str) -> None:
    edit("series/topic/0002-second.patch", "Go on.", f"It is {figure}.")
    [wrong] = claims.check(toy)
    assert wrong.startswith("topic/0002: docs/claims.md does not cover ")


def test_new_figure_in_a_subject(toy: Path, edit: Edit) -> None:
    edit("series/topic/0002-second.patch", "toy: first", "toy: gain\n 3.5x")
    assert claims.check(toy) == [
        "topic/0002: docs/claims.md does not cover 3.5 in 'toy: gain 3.5x Go on.'"
    ]


def test_what_is_no_figure() -> None:
    text = "Zen 4, gcc 12.2, x86-64, v7.3-rc7, 7.3.y, patch 8, MOVDIR64B, AVX-512, REBINDS=3"
    assert claims.extract(text) == ()


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ("| cases | systematic, r", "| no record | r", 'states 1 rows of "no record" but has 2'),
        ("| cases | systematic, r", "| cases | r", "10, but random is 20"),
        ("systematic, random |", "systematic |", "nothing derives 20"),
        (
            "systematic, random |",
            "systematic, random, random |",
            "derives more figures than it quotes",
        ),
        ("| cases | systematic,", "| case | systematic,", "'case' is not a source"),
        ("100 GiB: rounds", "100GiB: rounds", "cannot read '100GiB'"),
        ("limit / series", "1 / series", "the item '1 / series' is unknown"),
        ("| Slow | `results/slow", "| Slow | `results/fast", "nothing for '100 GiB, order 9d'"),
        ("| `make probes` |", "| `make run` |", "does not say that make run made"),
        (
            "base / series over 1",
            "base / fallback over 1",
            "base / fallback over 1: the smallest is 0.875",
        ),
        (
            "| per N KiB | a page |",
            "| per N KiB |  |\n| 64 | x |",
            "nothing needs the constant '64'",
        ),
        ("\n## topic/0000", "\n## mm/0004", "there is no document mm/0004"),
        ("| and 3 patches |", "| and |", "'and' occurs 3 times, not once"),
        ("| Once it was 77 us |", "| Once it was |", "'Once it was' has no figure"),
    ],
)
def test_bad_claims(toy: Path, edit: Edit, old: str, new: str, expected: str) -> None:
    edit(claims.CLAIMS, old, new)
    assert any(expected in line for line in claims.check(toy)), claims.check(toy)
