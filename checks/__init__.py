# SPDX-License-Identifier: GPL-2.0
"""What the tests check besides the two measured kernels: KUnit, sanitizers, objects, boots."""
