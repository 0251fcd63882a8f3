# SPDX-License-Identifier: GPL-2.0
"""`make replay`: the kernels' own object files in a user-space program, compared and raced."""
