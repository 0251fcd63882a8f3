# SPDX-License-Identifier: GPL-2.0
"""The replays of boot and onlining: all is as in the base, each mutation is found."""

import pytest

from harness.replay import boot
from harness.replay.boot import PROGRAM
from harness.replay.drain import find_undrained
from support import Builder, choose, compare, read_mutations, replay

MUTATIONS, FOUND, DISASSEMBLED = read_mutations("boot/mutations")
# The others run in make test-all only.
SHORT = (
    "wrong-refcount",
    "own-next-link-copied",
    "page-too-many",
    "reserved-in-another-zone",
    "freed-at-the-head",
    "online-not-isolated",
)
# Of each topic: the object, the function that drains, and whom it must not call before.
DRAINED = {
    "deferred": ("mm/mm_init", "deferred_init_memmap_chunk", "__free_initialised_pages"),
    "online": ("mm/mm_init", "memmap_init_online", ""),
}


@pytest.mark.parametrize("name", choose(boot.CONFIGS, ["debian"]))
def test_same_boot(builder: Builder, name: str) -> None:
    made = builder.replay(PROGRAM, name)
    told = replay(made, "info").stdout
    assert ("check_pages=" in told) == (name not in ("debian", "default"))
    assert ("page_ref_set" in told) == (name == "trace")
    for words in (*boot.BOOT.checks.values(), *boot.ONLINE.checks.values()):
        compare(made, *words)


@pytest.mark.parametrize("what", DRAINED)
@pytest.mark.parametrize(
    "name", choose(["debian", "default", "keys", "trace", "pageblock", "nomemcg"], ["debian"])
)
def test_copies_are_drained_before_they_are_freed(builder: Builder, name: str, what: str) -> None:
    part, *drained = DRAINED[what]
    kernel = builder.pair(PROGRAM, name)[1]
    kernel.make(f"{part}.o")
    assert not find_undrained(kernel.out / f"{part}.o", *drained)


@pytest.mark.parametrize("name", DISASSEMBLED)
def test_mutation_is_disassembled(builder: Builder, name: str) -> None:
    mutation = MUTATIONS[name]
    _, *drained = DRAINED[mutation.get("what", "deferred")]
    assert mutation["says"] in find_undrained(builder.mutated(PROGRAM, name, mutation), *drained)


@pytest.mark.parametrize("name", choose(FOUND, SHORT))
def test_mutation_is_found(builder: Builder, name: str) -> None:
    mutation = MUTATIONS[name]
    made = builder.mutant(PROGRAM, name, mutation)
    what = mutation.get("what", "deferred")
    done = replay(made, "random", what, "0", "60")
    assert done.returncode == 1, done.stdout + done.stderr
    reported = done.stdout.splitlines()
    assert reported[0].startswith(f"DIFFERS boot random {what} ")
    assert any(mutation["says"] in line for line in reported if line.startswith("  series: "))
    # The report names the command that shows it again.
    again = replay(made, *reported[0].split(" boot ")[1].split())
    where, how = again.stdout.splitlines()[:2]
    assert again.returncode == 1 and where == reported[0]
    # How many bytes differ depends on the addresses of the free lists.
    assert how.split(";")[0] == reported[1].split(";")[0]


def test_page_that_no_thread_frees_is_found(builder: Builder) -> None:
    chunk = "deferred_init_memmap_chunk(start_pfn, end_pfn{}, zone, true);"
    fault = {"edits": [[chunk.format(""), chunk.format(" - 1")]]}
    done = replay(builder.mutant(PROGRAM, "page-too-few", fault), "threads", "1", "1")
    assert done.returncode == 2 and "series freed 262143 pages of 262144" in done.stderr
