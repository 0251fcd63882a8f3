# SPDX-License-Identifier: GPL-2.0
"""What the tests check beyond the two measured kernels.

KUnit, sanitizers, single objects, the robustness boots, and the figures of the texts.
"""
