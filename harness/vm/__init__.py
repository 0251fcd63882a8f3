# SPDX-License-Identifier: GPL-2.0
"""One boot of a kernel in QEMU: its devices, its programs, its console."""
