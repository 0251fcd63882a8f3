# SPDX-License-Identifier: GPL-2.0
"""From the base source to built kernels: worktrees, topics, configurations, tools, images."""
