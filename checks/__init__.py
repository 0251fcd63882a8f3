# SPDX-License-Identifier: GPL-2.0
"""What the tests check besides the two measured kernels.

That is KUnit, sanitizers, single objects, the robustness boots, and the figures in README.md, the
cover letters and the patches.
"""
