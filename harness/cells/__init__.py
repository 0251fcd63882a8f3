# SPDX-License-Identifier: GPL-2.0
"""What the cells of the matrix build, boot and judge besides the two measured kernels."""
