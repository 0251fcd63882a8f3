# SPDX-License-Identifier: GPL-2.0
"""Run a target of make: read the options, lock the build folder, report failures in one line."""

import signal
import sys
from collections.abc import Callable

from harness.core import progress
from harness.core.errors import UserError
from harness.core.folders import lock_build
from harness.core.options import Options, read_options


def run_program(stage: Callable[[], object]) -> None:
    """Run a stage as a program.

    A UserError or OSError becomes one line and status 1, an interruption one line and status 130.
    A signal that nohup ignores stays ignored.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
    try:
        stage()
    except UserError as error:
        sys.exit("\n".join([*(f"    {line}" for line in error.shown), f"error: {error}"]))
    except OSError as error:
        sys.exit(f"error: {progress.CURRENT}: {error}")
    except KeyboardInterrupt:
        sys.stderr.write(
            f"error: interrupted ({progress.CURRENT}); "
            "partial results were discarded, run it again\n"
        )
        sys.exit(130)


def run_stage(stage: Callable[[Options], object]) -> None:
    """Run a stage with the options from the environment and with the build folder locked."""

    def framed() -> None:
        options = read_options()
        with lock_build(options.build):
            stage(options)

    run_program(framed)
