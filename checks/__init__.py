# SPDX-License-Identifier: GPL-2.0
"""What the tests build and boot beyond the two measured kernels: KUnit, sanitizers, single objects, the depth boots."""
