# SPDX-License-Identifier: GPL-2.0
"""Progress on stdout, with the time since the start."""

import time

STARTED = time.monotonic()
CURRENT = "starting"


def say(text: str) -> None:
    minutes, seconds = divmod(int(time.monotonic() - STARTED), 60)
    print(f"[{minutes:3d}:{seconds:02d}] {text}", flush=True)


def announce(text: str) -> None:
    """Say what starts now. The message of an interruption names the last announcement."""
    global CURRENT
    CURRENT = text
    say(text)
