# SPDX-License-Identifier: GPL-2.0
"""`make replay` and its kin: run the replay that the command line names."""

import sys

from harness.core import Options, run_stage
from harness.replay.device import DEVICE
from harness.replay.drain import note_peer_drain
from harness.replay.record import REPLAYS
from harness.replay.run import run_replay


def run_named(options: Options) -> None:
    """Run the replay; that of the device drivers also tells how the peer drains its stores."""
    [replay] = [one for one in REPLAYS if one.name == sys.argv[1]]
    run_replay(options, replay)
    if replay is DEVICE and options.peer:
        note_peer_drain(options)


run_stage(run_named)
