# SPDX-License-Identifier: GPL-2.0
"""In the VM: what the selftest must withstand, what devices hold afterwards, and hmm-tests.

The names of the cells are those of the checks that the scripts in guest/ call.
"""

from pathlib import Path

import pytest

from checks import robustness
from harness.core import options
from harness.kernel import images, tree
from harness.vm import accel

SCRIPTS = "robustness,robustness-refusals,robustness-faults,robustness-data"
MORE = f"{SCRIPTS},robustness-injected"
DEVICES = "robustness,robustness-devices"


@pytest.fixture(scope="session")
def image(chosen: options.Options, trees: tree.Trees) -> Path:
    """The initramfs of the robustness boots."""
    return robustness.make_image(chosen, trees.series)


@pytest.fixture(scope="session")
def short(chosen: options.Options, trees: tree.Trees, image: Path) -> robustness.Checks:
    """The checks on the measured kernel with the series."""
    kernel = images.build_kernel(chosen, "series", trees.series)
    return robustness.run_checks(
        chosen,
        trees.series,
        kernel,
        image,
        accel.choose_accel(chosen, kernel, image),
        4,
        SCRIPTS,
        1,
    )


@pytest.fixture(scope="session", params=["series-16G", "base-4G"])
def long(
    request: pytest.FixtureRequest, chosen: options.Options, trees: tree.Trees, image: Path
) -> robustness.Checks:
    """The checks, and more signals and faults, on kernels that can inject these."""
    name, size = request.param.split("-")
    kernel = images.build_kernel(chosen, name, getattr(trees, name), robustness.CONFIG)
    return robustness.run_checks(
        chosen,
        trees.series,
        kernel,
        image,
        accel.choose_accel(chosen, kernel, image),
        int(size[:-1]),
        MORE,
        10,
    )


@pytest.fixture(scope="session", params=["series", "base"])
def devices(
    request: pytest.FixtureRequest, chosen: options.Options, trees: tree.Trees, image: Path
) -> robustness.Checks:
    """The checks with more kinds of devices."""
    kernel = images.build_kernel(
        chosen, request.param, getattr(trees, request.param), robustness.CONFIG
    )
    return robustness.run_checks(
        chosen,
        trees.series,
        kernel,
        image,
        accel.choose_accel(chosen, kernel, image),
        4,
        DEVICES,
        1,
        robustness.REGIONS,
    )


def judge(told: robustness.Checks, name: str) -> None:
    """Fail, with what the guest told, unless the check passed."""
    if why := robustness.explain_check(told, name):
        pytest.fail(why, pytrace=False)


def judge_plan(told: robustness.Checks, scripts: str) -> None:
    """Fail unless the guest told of the checks of scripts, in their order, and of no others."""
    if why := robustness.explain_plan(told, robustness.list_checks(scripts)):
        pytest.fail(why, pytrace=False)


@pytest.mark.parametrize("name", robustness.list_checks(SCRIPTS))
def test_robustness(short: robustness.Checks, name: str) -> None:
    judge(short, name)


def test_robustness_is_all(short: robustness.Checks) -> None:
    judge_plan(short, SCRIPTS)


@pytest.mark.full
@pytest.mark.parametrize("name", robustness.list_checks(MORE))
def test_more_robustness(long: robustness.Checks, name: str) -> None:
    judge(long, name)


@pytest.mark.full
def test_more_robustness_is_all(long: robustness.Checks) -> None:
    judge_plan(long, MORE)


@pytest.mark.full
@pytest.mark.parametrize("name", robustness.list_checks(DEVICES))
def test_devices(devices: robustness.Checks, name: str) -> None:
    judge(devices, name)


@pytest.mark.full
def test_devices_is_all(devices: robustness.Checks) -> None:
    judge_plan(devices, DEVICES)


@pytest.mark.full
def test_hmm_tests_as_on_base(chosen: options.Options, trees: tree.Trees, image: Path) -> None:
    """Both kernels pass each of hmm-tests that are not left out; none is skipped."""
    told = {}
    for name in ("base", "series"):
        kernel = images.build_kernel(chosen, name, getattr(trees, name), robustness.CONFIG)
        told[name] = robustness.run_hmm_tests(
            chosen, trees.series, kernel, image, accel.choose_accel(chosen, kernel, image)
        )
    assert told["series"] == told["base"]
    assert {name: outcome for name, outcome in told["series"].items() if outcome != "PASS"} == {}


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
