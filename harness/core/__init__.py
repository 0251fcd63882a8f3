# SPDX-License-Identifier: GPL-2.0
"""What all the rest uses: commands, options, errors, progress, the build folder, the cache."""
