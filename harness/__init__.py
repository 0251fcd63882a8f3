# SPDX-License-Identifier: GPL-2.0
"""Build the base kernel and the series, boot both, and compare them.

Data and imports flow in one direction, down this list:

core    commands, options, errors, progress, the build folder, the cache
kernel  base source -> worktrees with the series applied -> configuration -> kernels
vm      devices, guest programs -> initramfs -> one boot in QEMU -> its console
bench   boots of the series, by KVM of the base, too -> samples -> table
link    object files of both kernels -> one user-space program -> comparison, race -> record
cells   what the tests of the real kernels, and make review, build, boot and judge
"""
