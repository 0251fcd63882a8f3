# SPDX-License-Identifier: GPL-2.0
"""What everything else stands on: commands, options, errors, progress, the build folder, the cache."""
