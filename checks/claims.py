# SPDX-License-Identifier: GPL-2.0
"""Check every figure of README.md, the cover letters and the patch messages against results/.

docs/claims.md lists the figures and says how each follows from a file. Every number is a figure,
except those in names (x86-64, gcc 12.2) and those that docs/claims.md lists as constants.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from harness.bench.zones import Boot, Zone
from harness.core.errors import UserError
from harness.core.folders import ROOT
from harness.core.progress import say
from harness.core.stages import run_program
from harness.replay import demotion

CLAIMS = "docs/claims.md"
NO_RECORD = "no record"
NUMBER = r"\d+(?:\.\d+)?"
# Names, whose numbers are not figures: a name and a number, a word that begins with a letter,
# a version such as 7.3.y.
NAME = (
    rf"\b(?:Zen|gcc|clang|Debian|[Pp]atch|volume) {NUMBER}"
    r"|[A-Za-z_][\w./=+!{}-]*|\d+\.\d+\.\w+"
)
UNITS = {
    "ns": 1,
    "us": 1e3,
    "ms": 1e6,
    "seconds": 1e9,
    "million": 1e6,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}
FIGURE = re.compile(rf"{NAME}|(?P<number>{NUMBER})(?: ?(?P<unit>%|(?:x|{'|'.join(UNITS)})\b))?")
SHORTLOG = re.compile(r"^\S.* \(\d+\):\n", re.M)
LISTED_PATCH = re.compile(r"^ \d+(-\d+)? +(?=[a-z])", re.M)
PROBE = rf"^ *(\d+) MiB +plain: +({NUMBER}) \+ +({NUMBER}) +MOVNTI: +({NUMBER}) \+ +({NUMBER})$"
# Items that say what was run. A row with several sources quotes them once for all sources.
GIVEN = {"device", "zone", "ram", "order", "orders", "span", "rounds", "pages", "memmap"}


class Figure(NamedTuple):
    """A number in a text: where it starts and ends, its digits, and its unit or an empty string."""

    start: int
    end: int
    number: str
    unit: str

    def bears(self, value: float, at_most: bool) -> bool:
        """Return whether value rounds to this figure or, with at_most, is at most this figure."""
        if self.unit == "%":
            value = 100 * (value - 1)
        value /= UNITS.get(self.unit, 1)
        if at_most:
            return value <= float(self.number)
        half = 0.5 * 10.0 ** -len(self.number.partition(".")[2])
        return abs(value - float(self.number)) <= half * (1 + 1e-9)


class Row(NamedTuple):
    """A claim: the quoted words, the names of its sources, and how its figures follow from them."""

    words: str
    sources: list[str]
    derived: str


@dataclass
class Claims:
    """The contents of docs/claims.md: sources by name, constants, and rows by document.

    stated is the number of rows without a record that the file itself states.
    """

    sources: dict[str, tuple[str, str]] = field(default_factory=dict)
    constants: list[str] = field(default_factory=list)
    rows: dict[str, list[Row]] = field(default_factory=dict)
    stated: int = -1


def flatten(text: str) -> str:
    """Return text on one line, without the bars of tables."""
    return " ".join(text.replace("|", " ").split())


def read_table(section: str) -> list[list[str]]:
    """Return the rows of a section's table as lists of cells, without its head."""
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def read_claims(text: str) -> Claims:
    """Return the claims in the text of docs/claims.md."""
    claims = Claims()
    if match := re.search(rf'^(\d+) rows say "{NO_RECORD}"', text, re.M):
        claims.stated = int(match[1])
    for section in text.split("\n## ")[1:]:
        title = section.partition("\n")[0]
        table = read_table(section)
        if title == "Sources":
            claims.sources = {
                name: (path.strip("`"), command.strip("`")) for name, path, command in table
            }
        elif title == "Constants":
            claims.constants = [words for words, _ in table]
        elif title != "How to read it":
            claims.rows[title] = [
                Row(words, sources.split(", "), derived) for words, sources, derived in table
            ]
    return claims


def read_documents(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and text of README.md and of each mail, without the parts that git writes."""
    yield "README.md", flatten((root / "README.md").read_text())
    for path in sorted(root.glob("series/*/*.patch")):
        head, _, body = path.read_text().partition("\n\n")
        if path.name.startswith("0000"):
            body = LISTED_PATCH.sub("", SHORTLOG.split(body)[0])
        else:
            body = re.split(r"^---$", body, flags=re.M)[0]
        subject = re.sub(r"(?s).*^Subject: \[.*?\] ", "", head, flags=re.M)
        yield f"{path.parent.name}/{path.name[:4]}", flatten(f"{subject} {body}")


@cache
def extract(text: str) -> tuple[Figure, ...]:
    """Return the figures of text."""
    found = (match for match in FIGURE.finditer(text) if match["number"])
    return tuple(Figure(*match.span(), match["number"], match["unit"] or "") for match in found)


@cache
def parse(text: str) -> dict[str, Any]:
    """Return the samples in the text of a JSON file."""
    samples: dict[str, Any] = json.loads(text)
    return samples


def find_size(race: dict[str, Any]) -> float:
    """Return the bytes of a race's device."""
    size: float = race["device_mib"] * 2**20 if "device_mib" in race else race["device_gib"] * 2**30
    return size


def select(samples: dict[str, Any], which: str) -> list[dict[str, Any]]:
    """Return the races that a text such as "100 GiB, order 9d" or "orders 3 to 18" selects."""
    match = re.fullmatch(
        r"(?:(\d+) ([GM]iB))?(?:, )?(?:orders? (\d+)(d?)(?:( to | and )(\d+))?)?", which
    )
    if not match:
        raise ValueError(f"cannot read '{which}'")
    size, unit, first, folded, joint, last = match.groups()
    wanted = range(19) if first is None else {int(first), int(last or first)}
    if joint == " to ":
        wanted = range(int(first), int(last) + 1)
    return [
        race
        for race in samples["results"]
        if race["order"] in wanted
        and (size is None or find_size(race) == int(size) * UNITS[unit])
        and (first is None or race.get("deduplicated", False) == bool(folded))
    ]


def measure_races(path: Path, which: str, item: str) -> list[float]:
    """Return an item of each race in a replay.json that which selects; times are in ns."""
    samples = parse(path.read_text())
    found = select(samples, which)
    orders = [race["order"] for race in found]
    if item == "orders":
        return [min(orders), max(orders)]
    given: dict[str, Callable[[dict[str, Any]], float]] = {
        "device": find_size,
        "order": lambda race: race["order"],
        "span": lambda race: 4096 << race["order"],
        "pages": lambda race: race["pages"],
        "memmap": lambda race: race["pages"] * samples["page_struct_size"],
    }
    if item in given:
        return [given[item](race) for race in found]
    return measure_times(found, item)


def measure_times(races: list[dict[str, Any]], item: str) -> list[float]:
    """Return the rounds, a runner's median in ns, or the median ratio of two, for each race."""
    if item == "rounds":
        return [len(times) for race in races for times in race["samples"].values()]
    name, per_tib = re.subn(" per TiB$", "", item)
    over, _, under = name.partition(" / ")
    if any(not {over, under or over} <= race["samples"].keys() for race in races):
        raise ValueError(f"the item '{item}' is unknown")
    if under:
        return [
            median(
                a / b for a, b in zip(race["samples"][over], race["samples"][under], strict=True)
            )
            for race in races
        ]
    return [median(race["samples"][over]) * (2**28 if per_tib else 1) for race in races]


def measure_threads(path: Path, which: str, item: str) -> list[float]:
    """Return an item of each race in a parallel.json that which selects; medians are in ns."""
    scale = 1 if "/" in item or item in GIVEN else UNITS["ms"]
    return [value * scale for value in measure_races(path, which, item)]


def measure_demotion(path: Path, which: str, item: str) -> list[float]:
    """Return an item of a demotion.json: base / series, or of "movnti copy", base / movnti.

    which is an order. An item is one of find_groups(); what was given; "copy 1 MiB" or "read 1 MiB"
    for so much other data; or "beside 1 MiB" for its bytes.
    """
    samples = parse(path.read_text())
    order = int(which.removeprefix("order "))
    some = [result for result in samples["results"] if result["order"] == order]
    name, _, rest = item.partition(" ")
    runner, what = (name, rest) if name in some[0]["copy"] else ("series", item)
    kind, _, size = what.partition(" ")
    given = {
        "ram": samples["gib"] * 2**30,
        "rounds": len(some[0]["copy"]["base"]),
        "span": 4096 << order,
    }
    if what in given:
        return [given[what]]
    if what in (groups := demotion.find_groups(samples, order, runner)):
        return [groups[what]]
    number, unit = size.split()
    kib = int(number) * UNITS[unit] / 1024
    if kind == "beside":
        return [kib * 1024]
    return [demotion.find_mean([one for one in some if one["other_kib"] == kib], kind, runner)]


def measure_boots(path: Path, which: str, item: str) -> list[float]:
    """Return an item of each race in a boot.json that which selects, as "early, 16 GiB" does."""
    match = re.fullmatch(r"(deferred|early|hotplug)?(?:, )?(?:(\d+) GiB)?", which)
    if not match:
        raise ValueError(f"cannot read '{which}'")
    found = [
        race
        for race in parse(path.read_text())["results"]
        if match[1] in (None, race["what"]) and match[2] in (None, str(race["gib"]))
    ]
    if item == "zone":
        return [race["gib"] * 2**30 for race in found]
    return measure_times(found, item)


def measure_instructions(path: Path, driver: str, kernel: str) -> list[float]:
    """Return the instructions per struct page of a kernel's rebinds in a bench-icount.json."""
    samples = parse(path.read_text())
    boots = [boot["devices"][driver] for boot in samples["boots"] if boot["kernel"] == kernel]
    pages = samples["pages"][driver]
    return [median(count for boot in boots for count in boot["memmap"]) * 1e6 / pages]


def measure_deferred(path: Path, shape: str, kernel: str) -> list[float]:
    """Return the instructions per struct page of a kernel's boots in a bench-boot-icount.json.

    shape is the guest, as "1 CPU, 1 node". "ram" is its memory instead.
    """
    samples = parse(path.read_text())
    if kernel == "ram":
        return [samples["gib"] * 2**30]
    found = []
    for entry in samples["boots"]:
        if shape == f"{entry['cpus']} CPU, {entry['nodes']} node" and kernel == entry["kernel"]:
            boot = Boot({}, 0, 0, 0, [Zone(**zone) for zone in entry["zones"]])
            pages = boot.count_deferred()
            found.append(entry["deferred_ms"] * 1e6 / pages)
    return found


def measure_probes(path: Path, which: str, item: str) -> list[float]:
    """Return an item of a probes.txt, in ns, at "2 MiB" or at every size "from 2 MiB" on."""
    text = path.read_text()
    if item in ("stale", "rounds"):
        match = re.search(
            r"^without: +stale words read in (?P<stale>\d+) of (?P<rounds>\d+) rounds$", text, re.M
        )
        return [float(match[item])] if match else []
    least, on = re.subn(r"^from ", "", which)
    found: list[dict[str, float]] = []
    for line in re.findall(PROBE, text, re.M):
        mib, fill, touch, streamed_fill, streamed_touch = (float(word) for word in line)
        if f"{mib:.0f} MiB" == least or (on and found):
            plain, streamed = 1e3 * (fill + touch), 1e3 * (streamed_fill + streamed_touch)
            found.append(
                {
                    "memmap": mib * 2**20,
                    "device": 64 * mib * 2**20,
                    "plain": plain,
                    "MOVNTI": streamed,
                    "loss": streamed - plain,
                    "MOVNTI / plain": streamed / plain,
                    "plain / MOVNTI": plain / streamed,
                }
            )
    return [values[item] for values in (found[:1] if item in GIVEN else found)]


def count_cases(path: Path, _which: str, item: str) -> list[float]:
    """Return the number of systematic or random cases that a replay.txt reports as compared."""
    systematic, random = re.findall(
        r"^(\d+) cases, .*: (?:series and fallback )?as base, byte for byte$",
        path.read_text(),
        re.M,
    )
    return [float({"systematic": systematic, "random": random}[item])]


def count_patches(path: Path, _which: str, item: str) -> list[float]:
    """Return the number of patches in series/, of one topic or of all."""
    patches = path.glob(f"{'*' if item == 'all' else item}/*.patch")
    return [sum(not patch.name.startswith("0000") for patch in patches)]


MEASURES: dict[str, Callable[[Path, str, str], list[float]]] = {
    "replay.json": measure_races,
    "parallel.json": measure_threads,
    "demotion.json": measure_demotion,
    "boot.json": measure_boots,
    "variants.json": measure_boots,
    "no-prefetch.json": measure_boots,
    "template.json": measure_boots,
    "template-prefetch.json": measure_boots,
    "fallback.json": measure_boots,
    "bench-boot-icount.json": measure_deferred,
    "bench-icount.json": measure_instructions,
    "probes.txt": measure_probes,
    "replay.txt": count_cases,
    "boot.txt": count_cases,
    "series": count_patches,
}


def recompute(root: Path, claims: Claims, row: Row) -> Iterator[tuple[str, list[float]]]:
    """Yield each item of a row and the values that its figure must match, in the figures' order."""
    which, _, items = row.derived.rpartition(": ")

    def measure(source: str, item: str) -> list[float]:
        path = root / claims.sources[source][0]
        values = MEASURES[path.name](path, which, re.sub(r"^at most | over 1$", "", item))
        if not values:
            raise ValueError(f"{path.relative_to(root)} has nothing for '{which}'")
        return values

    for source in row.sources:
        for item in items.split(", "):
            if item not in GIVEN and not item.startswith("at most "):
                yield item, measure(source, item)
            elif source == row.sources[0]:
                values = [value for one in row.sources for value in measure(one, item)]
                if item == "orders":
                    yield item, [min(values)]
                    yield item, [max(values)]
                else:
                    yield item, values


def judge(root: Path, claims: Claims, row: Row, figures: list[Figure]) -> None:
    """Compare a row's figures with its sources.

    Raises ValueError when the sources do not bear them out.
    """
    for source in row.sources:
        if source not in claims.sources:
            raise ValueError(f"'{source}' is not a source")
        if not (root / claims.sources[source][0]).exists():
            raise ValueError(f"{claims.sources[source][0]} is missing")
    left = list(figures)
    for item, values in recompute(root, claims, row):
        if item.endswith(" over 1"):
            if min(values) <= 1:
                raise ValueError(f"{item}: the smallest is {min(values):.6g}")
            continue
        if not left:
            raise ValueError("it derives more figures than it quotes")
        figure = left.pop(0)
        for value in values:
            if not figure.bears(value, item.startswith("at most ")):
                said = f"{figure.number} {figure.unit}".rstrip()
                raise ValueError(f"{said}, but {item} is {value:.6g}")
    if left:
        raise ValueError(f"nothing derives {', '.join(figure.number for figure in left)}")


def check_rows(
    root: Path, claims: Claims, name: str, text: str, covered: set[Figure]
) -> Iterator[str]:
    """Yield what is wrong with the rows of a document, and add the figures in them to covered."""
    for row in claims.rows.get(name, []):
        words = flatten(row.words)
        start = text.find(words)
        if start < 0 or text.find(words, start + 1) >= 0:
            yield f"{name}: '{words}' occurs {text.count(words)} times, not once"
            continue
        quoted = [
            figure
            for figure in extract(text)
            if start <= figure.start and figure.end <= start + len(words)
        ]
        covered.update(quoted)
        if not quoted and " over 1" not in row.derived:
            yield f"{name}: '{words}' has no figure"
        if row.sources != [NO_RECORD]:
            try:
                judge(root, claims, row, quoted)
            except (KeyError, ValueError) as error:
                yield f"{name}: '{words}' is not borne out: {error}"


def find_constants(text: str, constant: str) -> set[Figure]:
    """Return the figures of text that are part of a constant."""
    pattern = re.sub(r"\bN\b", lambda _: NUMBER, re.escape(constant))
    return {
        figure
        for match in re.finditer(pattern, text)
        for figure in extract(text)
        if match.start() <= figure.start and figure.end <= match.end()
    }


def list_unrecorded(claims: Claims) -> list[str]:
    """Return the claims for which no samples were kept."""
    return [
        f"{name}: {row.words}"
        for name, rows in claims.rows.items()
        for row in rows
        if row.sources == [NO_RECORD]
    ]


def check(root: Path = ROOT) -> list[str]:
    """Return what is wrong with the figures below root; nothing if results/ bears all out."""
    claims = read_claims((root / CLAIMS).read_text())
    documents = dict(read_documents(root))
    unused = set(claims.constants)
    wrong = [
        f"{CLAIMS}: there is no document {name}" for name in claims.rows if name not in documents
    ]
    for name, text in documents.items():
        covered: set[Figure] = set()
        wrong += check_rows(root, claims, name, text, covered)
        for constant in claims.constants:
            if found := find_constants(text, constant) - covered:
                covered |= found
                unused.discard(constant)
        for figure in extract(text):
            if figure not in covered:
                around = text[max(0, figure.start - 30) : figure.end + 30]
                wrong.append(f"{name}: {CLAIMS} does not cover {figure.number} in '{around}'")
    wrong += [f"{CLAIMS}: nothing needs the constant '{constant}'" for constant in sorted(unused)]
    for path, command in claims.sources.values():
        readme = (root / path).parent / "README.md"
        if path.startswith("results/") and not (
            readme.exists() and f"`{command}`" in readme.read_text()
        ):
            wrong.append(
                f"{CLAIMS}: {readme.relative_to(root)} does not say that {command} made {path}"
            )
    if (number := len(list_unrecorded(claims))) != claims.stated:
        wrong.append(f'{CLAIMS} states {claims.stated} rows of "{NO_RECORD}" but has {number}')
    return wrong


def show() -> None:
    """Print the claims without a record.

    Raises UserError when a figure is not borne out.
    """
    for claim in list_unrecorded(read_claims((ROOT / CLAIMS).read_text())):
        say(f"{NO_RECORD}: {claim}")
    if wrong := check():
        raise UserError(
            f"{len(wrong)} figures or rows are wrong: correct the text or {CLAIMS}", wrong
        )


if __name__ == "__main__":
    run_program(show)
