# SPDX-License-Identifier: GPL-2.0
"""`make replay-hugetlb`: compare and race how both kernels prepare boot's pages of 1 GiB."""

from harness.core.stages import run_stage
from harness.replay.online import describe_replay
from harness.replay.run import run_replay

# Pages, rounds of each process.
HUGETLB = describe_replay("hugetlb", ["16", "9"])

if __name__ == "__main__":
    run_stage(lambda options: run_replay(options, HUGETLB))
