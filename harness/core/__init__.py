# SPDX-License-Identifier: GPL-2.0
"""What all the rest uses: commands, options, errors, progress, the build folder, the cache."""

from harness.core.command import compile_program, git, make_environment, run, spawn
from harness.core.errors import UserError
from harness.core.folders import ROOT, lock_build, need_disk
from harness.core.options import Options, read_options
from harness.core.progress import announce, say
from harness.core.stages import run_program, run_stage

__all__ = ["ROOT", "Options", "UserError", "announce", "compile_program", "git", "lock_build"]
__all__ += ["make_environment", "need_disk", "read_options", "run", "run_program", "run_stage"]
__all__ += ["say", "spawn"]
