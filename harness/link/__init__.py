# SPDX-License-Identifier: GPL-2.0
"""Objects of both kernels, linked into programs that run here: built, compared, raced."""
