# SPDX-License-Identifier: GPL-2.0
"""From a base kernel and series/ to a table. Data flows one way, and so do the imports:

core    commands, options, errors, progress, the build folder, the cache
kernel  base source -> worktrees with the series applied -> configuration -> kernels
vm      devices, guest programs -> initramfs -> one boot in QEMU -> its console
bench   boots of both kernels -> samples -> table, plot
replay  object files of both kernels -> one user-space program -> comparison, race -> table, plot
"""
