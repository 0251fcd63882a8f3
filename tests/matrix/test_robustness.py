# SPDX-License-Identifier: GPL-2.0
"""In the VM: what the selftest refuses, interruptions, binds that fail, what devices hold afterwards, other kinds of devices, and hmm-tests."""

from pathlib import Path

import pytest

from checks import robustness
from harness.core import options
from harness.kernel import images, tree
from harness.vm import accel

SCRIPTS = "depth,depth-refusals,depth-faults,depth-data"
CHECKS = (
    "mounted",
    "mounted-in-another-namespace",
    "partition-mounted",
    "swap",
    "device-mapper",
    "disk-opened",
    "disk-mapped",
    "dax-opened",
    "dax-mapped",
    "partition-opened",
    "disk-opened-renamed",
    "dax-opened-renamed",
    "disk-mapped-unlinked",
    "dax-mapped-unlinked",
    "process-hidden",
    "process-1-unreadable",
    "process-unreadable",
    "system-ram-refused",
    "disk-unbound",
    "dax-unbound",
    "all-unbound",
    "not-root",
    "no-dynamic-debug",
    "no-device-named",
    "no-such-device",
    "other-driver",
    "without-memmap",
    "path-for-a-device",
    "pattern-for-a-device",
    "empty-device",
    "count-zero",
    "count-absurd",
    "count-negative",
    "count-no-number",
    "count-empty",
    "count-overflowing",
    "unknown-option",
    "too-many-arguments",
    "disk-interrupted-unbound",
    "disk-terminated-unbound",
    "dax-interrupted-unbound",
    "dax-hung-up-unbound",
    "disk-killed-unbound",
    "dax-killed-unbound",
    "disk-interrupted-anywhere",
    "dax-interrupted-anywhere",
    "disk-bound-by-another",
    "dax-bound-by-another",
    "disk-bind-fails",
    "dax-bind-fails",
    "dax-half-bound",
    "kernel-warns",
    "log-overwritten",
    "disk-skipped-dax-passes",
    "dax-skipped-disk-passes",
    "both-skipped",
    "disk-fails-dax-passes",
    "dax-fails-disk-passes",
    "message-stays-on",
    "message-stays-off",
    "message-stays-prefixed",
    "prepare",
    "rebinds",
    "ext4-kept",
    "dax-kept",
    "dax-written",
    "system-ram-and-back",
)
INJECTED = (
    "loop",
    "exported",
    "disk-no-memory-once",
    "dax-no-memory-once",
    "disk-no-memory",
    "dax-no-memory",
)

DEVICES = (
    "e820-rebound",
    "e820-refused",
    "hmem-as-ram-refused",
    "hmem-rebound",
    "hmem-refused",
    "all-devices",
    "two-ranges",
    "other-pid-namespace",
    "run_vmtests-unconfigured",
    "run_vmtests-without-d",
    "run_vmtests-configured",
    "disk-memmap-in-ram",
    "dax-memmap-in-ram",
)


@pytest.fixture(scope="session")
def image(chosen: options.Options, trees: tree.Trees) -> Path:
    """The initramfs of the depth boots."""
    return robustness.make_image(chosen, trees.series)


@pytest.fixture(scope="session")
def short(chosen: options.Options, trees: tree.Trees, image: Path) -> dict[str, robustness.Check]:
    """The checks on the measured kernel with the series."""
    kernel = images.build_kernel(chosen, "series", trees.series)
    return robustness.run_checks(
        chosen, kernel, image, accel.choose_accel(chosen, kernel, image), 4, SCRIPTS, 1
    )


@pytest.fixture(scope="session", params=["series-16G", "base-4G"])
def long(
    request: pytest.FixtureRequest, chosen: options.Options, trees: tree.Trees, image: Path
) -> dict[str, robustness.Check]:
    """The checks, and more signals and faults, on kernels that can inject these."""
    name, size = request.param.split("-")
    kernel = images.build_kernel(chosen, name, getattr(trees, name), robustness.CONFIG)
    return robustness.run_checks(
        chosen,
        kernel,
        image,
        accel.choose_accel(chosen, kernel, image),
        int(size[:-1]),
        f"{SCRIPTS},depth-injected",
        10,
    )


@pytest.fixture(scope="session", params=["series", "base"])
def devices(
    request: pytest.FixtureRequest, chosen: options.Options, trees: tree.Trees, image: Path
) -> dict[str, robustness.Check]:
    """The checks with more kinds of devices."""
    kernel = images.build_kernel(
        chosen, request.param, getattr(trees, request.param), robustness.CONFIG
    )
    return robustness.run_checks(
        chosen,
        kernel,
        image,
        accel.choose_accel(chosen, kernel, image),
        4,
        "depth,depth-devices",
        1,
        robustness.REGIONS,
    )


def judge(told: dict[str, robustness.Check], name: str) -> None:
    """Fail, with what the guest told, unless the check passed."""
    assert name in told, "the guest did not get to this check"
    assert told[name].ok, "\n".join(told[name].lines)


@pytest.mark.parametrize("name", CHECKS)
def test_depth(short: dict[str, robustness.Check], name: str) -> None:
    judge(short, name)


def test_depth_is_all(short: dict[str, robustness.Check]) -> None:
    assert tuple(short) == CHECKS


@pytest.mark.full
@pytest.mark.parametrize("name", CHECKS + INJECTED)
def test_more_depth(long: dict[str, robustness.Check], name: str) -> None:
    judge(long, name)


@pytest.mark.full
def test_more_depth_is_all(long: dict[str, robustness.Check]) -> None:
    assert tuple(long) == CHECKS + INJECTED


@pytest.mark.full
@pytest.mark.parametrize("name", DEVICES)
def test_devices(devices: dict[str, robustness.Check], name: str) -> None:
    judge(devices, name)


@pytest.mark.full
def test_devices_is_all(devices: dict[str, robustness.Check]) -> None:
    assert tuple(devices) == DEVICES


@pytest.mark.full
def test_hmm_tests_as_on_base(chosen: options.Options, trees: tree.Trees, image: Path) -> None:
    """Both kernels pass each of hmm-tests that are not left out; none is skipped."""
    told = {}
    for name in ("base", "series"):
        kernel = images.build_kernel(chosen, name, getattr(trees, name), robustness.CONFIG)
        told[name] = robustness.run_hmm_tests(
            chosen, kernel, image, accel.choose_accel(chosen, kernel, image)
        )
    assert told["series"] == told["base"]
    assert {name: outcome for name, outcome in told["series"].items() if outcome != "ok"} == {}


@pytest.mark.full
@pytest.mark.usefixtures("trees")
@pytest.mark.parametrize(
    ("memory", "name"),
    [
        pytest.param(memory, name, id=f"{memory}-{name}")
        for memory, left_out in robustness.WITHOUT.items()
        for name in left_out
    ],
)
def test_hmm_test_left_out(memory: str, name: str) -> None:
    pytest.skip(robustness.WITHOUT[memory][name])
